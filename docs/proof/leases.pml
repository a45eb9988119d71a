/* The lease protocol of one job, as docs/reference/jobs.md states it, under everything that goes wrong.
 *
 * Workers may pause between any two steps for any time, which is what interleaving means here; they may crash, and
 * their replies may be lost. The store's clock may declare a lease expired at any moment. Checked:
 *
 *   one_at_a_time   a page is written under the newest fence alone, and fences only grow
 *   once            every page takes effect exactly once, and the cursor never goes back
 *   final           a job that is done stays done
 *   ends            as long as leases do not expire for ever, the job is done one day
 *
 * With -DUNFENCED=1 writes are not compared with the fence, as in queues that only check who holds the lease now and
 * then: Spin then finds a run in which a stale worker writes a page again.
 */

#ifndef UNFENCED
#define UNFENCED 0
#endif

#define WORKERS 3
#define PAGES 2
#define EXPIRIES 3
#define FAULTS 2

mtype = { pending, leased, done };

/* the job's row in the store */
mtype status = pending;
byte fence = 0;
bool expired = false;
byte cursor = 0;

/* what has happened, for the laws */
byte effects[PAGES];
byte newest_commit = 0;
byte expiries = 0;
byte faults = 0;

#define CURRENT (fence == mine && status == leased)

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

proctype Worker() {
  byte mine = 0;
  byte at = 0;

claim:
  atomic {
    if
    :: status == done -> goto over
    :: status == pending || (status == leased && expired) ->
         fence++;
         mine = fence;
         at = cursor;
         status = leased;
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
            :: at == PAGES -> goto over
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
  :: /* a failed try, or SIGTERM: the job goes back */
     atomic {
       faults < FAULTS -> faults++;
       if
       :: CURRENT -> status = pending
       :: else -> skip
       fi
     };
     goto claim
  :: /* SIGKILL: nothing is said; another process starts in its place */
     atomic { faults < FAULTS -> faults++; mine = 0; at = 0 };
     goto claim
  fi;

over:
  skip
}

/* The store's clock: any lease may be over at any moment, though not for ever; each fault may cost one more. */
proctype Clock() {
  do
  :: atomic { status == leased && !expired && expiries < EXPIRIES + faults -> expired = true; expiries++ }
  :: status == done -> break
  od
}

init {
  byte number = 0;
  atomic {
    do
    :: number < WORKERS -> run Worker(); number++
    :: else -> break
    od;
    run Clock()
  }
}

ltl ends { <> (status == done) }
