/* Two shards that share a place, and a provider that may answer "not modified" (304).
 *
 * A refresh asks with the answer that it remembers; a window brings the place without any. Both send a request at one
 * moment, and commit at any later one. The provider changes the place, and may change it back. Checked:
 *
 *   order   the store never goes back to an answer from an earlier request
 *   agrees  once the provider is at rest, one more refresh brings the store to what the provider has
 *
 * A 304 counts only while the store still holds what was remembered: when a later request has brought something since,
 * the refresh asks again, without. Each of these breaks a law, and Spin must find out:
 *
 *   CEMENTS   every 304 is taken to mean that the store is right
 *   LATE      a page is written however late it comes
 */

#ifndef CEMENTS
#define CEMENTS 0
#endif
#ifndef LATE
#define LATE 0
#endif

#define CHANGES 3
#define WINDOWS 2
#define REFRESHES 2

byte now = 1;
/* what the provider has: one of two things, so that it can be changed back */
bit provider = 0;
byte changes = 0;

/* the place in the store, and when what it holds was asked for */
bit place = 0;
byte place_at = 0;
/* the answer that refreshes remember, and when it was asked for; 0 is never */
bit remembered = 0;
byte remembered_at = 0;

bool is_calm = false;
byte running = WINDOWS + REFRESHES;

inline send() {
  asked_at = now;
  now++;
  answer = provider
}

inline write_place() {
  if
  :: LATE || asked_at > place_at ->
       assert(asked_at > place_at);                /* order */
       place = answer;
       place_at = asked_at
  :: else -> skip
  fi
}

inline remember() {
  if
  :: asked_at > remembered_at -> remembered = answer; remembered_at = asked_at
  :: else -> skip
  fi
}

inline refresh() {
  atomic { known = remembered; known_at = remembered_at };
  atomic { send(); is_same = (known_at > 0 && answer == known) };
  atomic {
    if
    :: is_same && (CEMENTS || place_at <= known_at) ->
         /* not modified: the place was asked for now, and is as it was */
         if
         :: asked_at > place_at -> place_at = asked_at
         :: else -> skip
         fi;
         remember();
         is_same = false;
         goto_again = false
    :: is_same && !(CEMENTS || place_at <= known_at) -> goto_again = true
    :: else -> write_place(); remember(); goto_again = false
    fi
  };
  if
  :: goto_again ->
       /* asked again, without what was remembered: the answer is whole */
       atomic { send() };
       atomic { write_place(); remember() }
  :: else -> skip
  fi
}

proctype Window() {
  bit answer;
  byte asked_at;
  atomic { send() };
  atomic { write_place(); running-- }
}

proctype Refresh() {
  bit answer, known;
  byte asked_at, known_at;
  bool is_same, goto_again;
  refresh();
  atomic { running-- }
}

proctype Provider() {
  do
  :: atomic { changes < CHANGES -> changes++; provider = 1 - provider }
  :: running == 0 -> break
  od;
  is_calm = true
}

/* When all is calm, one more. */
proctype Last() {
  bit answer, known;
  byte asked_at, known_at;
  bool is_same, goto_again;
  is_calm;
  refresh();
  assert(place == provider)                        /* agrees */
}

init {
  byte number = 0;
  atomic {
    do
    :: number < WINDOWS -> run Window(); number++
    :: else -> break
    od;
    number = 0;
    do
    :: number < REFRESHES -> run Refresh(); number++
    :: else -> break
    od;
    run Provider();
    run Last()
  }
}
