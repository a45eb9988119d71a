/* The lease protocol of one job, as docs/reference/jobs.md states it, under everything that goes wrong.
 *
 * Workers may pause between any two steps for any time, which is what interleaving means here; they may crash, and
 * their replies may be lost. The store's clock may declare a lease expired at any moment. A job may fail for good, and
 * a person may revive it. A process that starts under the name of a dead one releases what that held. Checked:
 *
 *   one_at_a_time   a page is written under the newest fence alone, and fences only grow
 *   once            every page takes effect exactly once, and the cursor never goes back
 *   final           a job that is done stays done; a dead one stays dead until a person revives it
 *   ends            as long as leases do not expire for ever, the job is done one day, or dead with nobody to revive it
 *
 * Each of these breaks a law, and Spin must find out:
 *
 *   UNFENCED        writes are not compared with the fence, as in queues that only check who holds the lease
 *   SAME_FENCE      what release_owner gave back is leased again under the fence it had
 *   RAISES_DEAD     a claim takes dead jobs too
 *   UNDONE          revive takes jobs that are done
 *   FOR_EVER        leases never expire
 *   HANGS           a worker may renew its lease and do nothing, without end
 */

#ifndef UNFENCED
#define UNFENCED 0
#endif
#ifndef SAME_FENCE
#define SAME_FENCE 0
#endif
#ifndef RAISES_DEAD
#define RAISES_DEAD 0
#endif
#ifndef UNDONE
#define UNDONE 0
#endif
#ifndef FOR_EVER
#define FOR_EVER 0
#endif
#ifndef HANGS
#define HANGS 0
#endif

#define WORKERS 3
#define PAGES 2
#define EXPIRIES 1
#define FAULTS 2
#define REVIVALS 1

mtype = { pending, leased, done, dead };

/* the job's row in the store */
mtype status = pending;
byte fence = 0;
byte owner = 0;
bool expired = false;
bool was_released = false;
byte cursor = 0;

/* what has happened, for the laws */
byte effects[PAGES];
byte newest_commit = 0;
byte expiries = 0;
byte faults = 0;
byte revivals = 0;
bool given_up = false;

#define CURRENT (fence == mine && status == leased)
#define OVER (status == done || (status == dead && revivals == REVIVALS))

inline commit_page() {
  assert(mine >= newest_commit);   /* one_at_a_time */
  newest_commit = mine;
  assert(at == cursor);            /* once: neither back nor ahead */
  effects[at]++;
  assert(effects[at] == 1);        /* once */
  assert(status != done);          /* final */
  at++;
  cursor = at;
  if
  :: at == PAGES -> status = done
  :: else -> skip
  fi
}

proctype Worker(byte name) {
  byte mine = 0;
  byte at = 0;

claim:
  atomic {
    if
    :: OVER -> goto over
    :: status == pending || (status == leased && expired) || (RAISES_DEAD && status == dead) ->
         assert(!given_up);        /* final: nobody has revived it */
         if
         :: SAME_FENCE && was_released -> skip
         :: else -> fence++
         fi;
         mine = fence;
         at = cursor;
         status = leased;
         owner = name;
         was_released = false;
         expired = false
    fi
  }

work:
  if
  :: true -> /* a page has come: write it, its cursor and, with the last one, the end, in one transaction */
     atomic {
       if
       :: UNFENCED || CURRENT ->
            commit_page();
            if
            :: at == PAGES -> goto claim
            :: else -> goto work
            fi
       :: else -> goto claim                       /* LeaseLost: the shard is dropped at once */
       fi
     }
  :: /* the same, but the reply is lost: the worker cannot know, and gives the job back */
     atomic {
       faults < FAULTS -> faults++;
       if
       :: UNFENCED || CURRENT -> commit_page()
       :: else -> skip
       fi
     };
     atomic {
       if
       :: CURRENT -> status = pending
       :: else -> skip
       fi
     };
     goto claim
  :: /* a late renewal: whoever still has the newest fence keeps the lease */
     atomic { CURRENT && expired -> expired = false };
     goto work
  :: /* a question without an answer: it is renewed meanwhile, until the time-out that every request has */
     atomic { HANGS && CURRENT -> expired = false };
     goto work
  :: /* a failed try, or SIGTERM: the job goes back */
     atomic {
       faults < FAULTS -> faults++;
       if
       :: CURRENT -> status = pending
       :: else -> skip
       fi
     };
     goto claim
  :: /* a failure that is for good */
     atomic {
       faults < FAULTS -> faults++;
       if
       :: CURRENT -> status = dead; given_up = true
       :: else -> skip
       fi
     };
     goto claim
  :: /* SIGKILL: nothing is said; another process starts in its place */
     atomic { faults < FAULTS -> faults++; mine = 0; at = 0 };
     if
     :: true -> skip
     :: /* under its name, which the folder's lock proves to be dead: what it held is released at once */
        atomic {
          if
          :: status == leased && owner == name -> status = pending; was_released = true
          :: else -> skip
          fi
        }
     fi;
     goto claim
  :: /* the name was not dead after all: a process that is stopped goes on beside the one in its place */
     atomic {
       faults < FAULTS && status == leased && owner == name -> faults++;
       status = pending;
       was_released = true
     };
     goto work
  fi;

over:
  skip
}

/* The store's clock: any lease may be over at any moment, though not for ever; each fault may cost one more. */
proctype Clock() {
  do
  :: atomic {
       !FOR_EVER && status == leased && !expired && expiries < EXPIRIES + faults -> expired = true; expiries++
     }
  :: OVER -> break
  od
}

proctype Person() {
  do
  :: atomic {
       revivals < REVIVALS && (status == dead || (UNDONE && status == done)) ->
       assert(status != done);     /* final */
       revivals++;
       given_up = false;
       status = pending
     }
  :: OVER -> break
  od
}

init {
  byte number = 0;
  atomic {
    do
    :: number < WORKERS -> run Worker(number); number++
    :: else -> break
    od;
    run Clock();
    run Person()
  }
}

ltl ends { <> OVER }
