/* A shard whose job lives in another store than its places: two stores, and no transaction over both.
 *
 * The place store keeps a row for the shard, with fence, cursor, end and parts, and is the authority. A worker claims
 * in the job store, begins in the place store (which takes its fence, unless it has seen a larger one, and says how far
 * the shard is), commits each page there, and then tells the job store. It may be killed or paused between any two of
 * these. The shard turns out too large: its last page cuts it into parts, which the job store has to be told of.
 *
 * Once, at any moment, the job store forgets everything, and the shard is enqueued anew, because the place store knows
 * that it is not done. Workers go on meanwhile, and fences too: those of Redis begin at its clock. With RESTORED, it is
 * put back to how it was, with the fences it had then. Its workers are stopped before that, and whoever opens it next
 * raises them above those that the places have seen. Checked, both ways:
 *
 *   once    every page takes effect exactly once, under the newest fence, and the cursor never goes back
 *   parts   what was cut is enqueued, and the job is done, one day
 *
 * Each of these breaks a law, and Spin must find out:
 *
 *   UNFENCED    the row does not compare fences
 *   BLIND       a worker begins where the job store says, and not the row
 *   UNTOLD      whoever claims a shard that was cut does not tell the job store again
 *   UNRAISED    with RESTORED: fences are not raised
 *   BESIDE      with RESTORED: workers go on meanwhile, and two may come to have the same fence
 */

#ifndef UNFENCED
#define UNFENCED 0
#endif
#ifndef BLIND
#define BLIND 0
#endif
#ifndef UNTOLD
#define UNTOLD 0
#endif
#ifndef UNRAISED
#define UNRAISED 0
#endif

#ifndef RESTORED
#define RESTORED 0
#endif
#ifndef BESIDE
#define BESIDE 0
#endif

#define WORKERS 2
#define PAGES 2
#define EXPIRIES 2
#define FAULTS 2

mtype = { pending, leased, done };

/* the job store */
mtype status = pending;
byte fences = 0;
byte fence = 0;
byte told_cursor = 0;
bool has_parts = false;
bool expired = false;
bool must_raise = false;

/* the shard's row in the place store */
byte row_fence = 0;
byte row_cursor = 0;
bool row_is_cut = false;

/* what has happened, for the laws */
byte effects[PAGES];
byte expiries = 0;
byte faults = 0;
bool has_forgotten = false;

/* whether this process is to be, or was, stopped before the job store is restored */
#define STOPPED (RESTORED && !BESIDE && has_forgotten && !is_new)
#define CURRENT (!STOPPED && fence == mine && status == leased)
#define ALL_TOLD (status == done && has_parts)

inline tell_of_parts() {
  atomic {
    if
    :: CURRENT -> status = done; has_parts = true
    :: else -> skip                                /* LeaseLost: whoever holds it finds the row cut, and tells */
    fi
  }
}

proctype Worker() {
  byte mine = 0;
  byte at = 0;
  bool is_new = false;

claim:
  atomic {
    if
    :: ALL_TOLD && has_forgotten -> goto over
    :: !must_raise && (status == pending || (status == leased && expired)) ->
         is_new = has_forgotten;
         fences++;
         fence = fences;
         mine = fence;
         at = told_cursor;
         status = leased;
         expired = false
    fi
  };

  /* begin */
  atomic {
    if
    :: !STOPPED && (UNFENCED || mine >= row_fence) ->
         row_fence = mine;
         if
         :: BLIND -> skip
         :: else -> at = row_cursor
         fi
    :: else -> goto claim                          /* LeaseLost */
    fi
  };
  if
  :: row_is_cut ->
       if
       :: UNTOLD -> atomic { if :: CURRENT -> status = done :: else -> skip fi }
       :: else -> tell_of_parts()
       fi;
       goto claim
  :: else -> skip
  fi;

work:
  if
  :: true -> /* commit in the place store */
     atomic {
       if
       :: !STOPPED && (UNFENCED || mine == row_fence) ->
            assert(at == row_cursor);              /* once: neither back nor ahead */
            effects[at]++;
            assert(effects[at] == 1);              /* once */
            at++;
            row_cursor = at;
            if
            :: at == PAGES -> row_is_cut = true
            :: else -> skip
            fi
       :: else -> goto claim                       /* LeaseLost */
       fi
     }
  :: /* SIGKILL before it, or the process is replaced */
     atomic { faults < FAULTS -> faults++; mine = 0; at = 0 };
     goto claim
  fi;
  if
  :: true -> /* tell the job store */
     if
     :: at == PAGES -> tell_of_parts(); goto claim
     :: else ->
          atomic {
            if
            :: CURRENT -> told_cursor = at; goto work
            :: else -> goto claim                  /* LeaseLost */
            fi
          }
     fi
  :: /* SIGKILL between the two */
     atomic { faults < FAULTS -> faults++; mine = 0; at = 0 };
     goto claim
  fi;

over:
  skip
}

proctype Clock() {
  do
  :: atomic { status == leased && !expired && expiries < EXPIRIES + faults -> expired = true; expiries++ }
  :: ALL_TOLD && has_forgotten -> break
  od
}

proctype Forgetting() {
  atomic {
    status = pending;
    if
    :: RESTORED -> fences = 0
    :: else -> skip
    fi;
    fence = 0;
    told_cursor = 0;
    has_parts = false;
    expired = false;
    must_raise = RESTORED && !UNRAISED;
    has_forgotten = true
  };
  atomic {
    if
    :: must_raise && fences < row_fence -> fences = row_fence
    :: else -> skip
    fi;
    must_raise = false
  }
}

init {
  byte number = 0;
  atomic {
    do
    :: number < WORKERS -> run Worker(); number++
    :: else -> break
    od;
    run Clock();
    run Forgetting()
  }
}

ltl parts { <> (ALL_TOLD && has_forgotten) }
