"""What stands above the tables."""

EXPLANATION = """\
Each server is one process on one core and is asked from another core, all in one run and in turns, the middle of three
rounds. Read the ratios: figures change with the machine.

- *Redirects/s*: the most with 4, 16 or 64 connections, each asking again as soon as it is answered (wrk): a thousand
  links one after the other, by visitors with several hundred combinations of browser, language and referring page.
  Everybody is asked once for each of them before each measurement.
- *Of its core*: how much of it the server used meanwhile, shipping included.
- *At 70 %*: that part of each system's own peak as a fixed rate (`h2load --h1 --rps`), over up to 16 connections.
- *Waypost*: `waypost serve redirect` with all links in the store. What was asked for is in memory for up to 30
  seconds, and what is asked for again and again is renewed before these are over. Each visit is in the spool before it
  is answered, and is shipped and counted by the same process meanwhile and afterwards: before each measurement all wait
  until the machine is still. *Counted/s*, below, is what a store takes for good; what comes quicker stays in the spool,
  up to its bound, and what is beyond it is lost and told.
- *nginx*: the ceiling. One worker process, `return 302` to one and the same target, no log.
- *FastAPI and Redis*: as people write it. One GET, one INCR, one RedirectResponse; uvicorn with uvloop and httptools.
- *django-link-shortener* 1.1: the one shortener with counts that we found on PyPI or in Debian and that runs as a
  server: one gunicorn process with 8 threads, over PostgreSQL. Under the names of Shlink, YOURLS and Kutt there are
  only clients; `golinks` (PyPI) is for one person and reads a JSON file for each redirect; `flask-url-shortener` and
  `django-shorturls` say nothing of counts; `tryton-modules-web-shortener` (Debian) is a part of an ERP system.
- PostgreSQL and Redis are on the same machine and may use both cores.
- *Links made*: `POST /v1/links`, each with another target (wrk); *in bulk*: 10,000 lines in one `POST /v1/links/bulk`.
- *A phrase*: its words drawn by their number and written as one, in process.
- *Costs as links become more*: in process, without HTTP, on one store after the other. Each number of links has a
  database of its own, and all are asked in turns, so that an hour in which the machine is slow is one for all of them.
  *Look-up*: a phrase that is not in memory. *Drawing*: with reserving its number, on both stores. *Creation*: drawing
  and adding, one after the other; *in bulk*: 1,000 in one transaction. The links before were written straight into
  their tables. These are read before each measurement, so that they are in memory as far as they fit: a machine may
  take it from files that nobody reads.
- *Counts*: a link's visits over 90 days with 180 browsers and 500 referring sites, in process; *counted/s* is for
  batches of 2,000, as they are shipped, for one link, which is the worst case.
- *What misses its aim*. Redirects: measured apart, one takes 11 us of our own process and 7 of the kernel, for nginx 2
  and 4. Counts: referrers of 40 days are added up from a row for each day and referring site. Links in bulk: a
  new link goes into three indexes at places that chance decides (its phrase, what looks like it, its target), so that
  a thousand of them change far more pages among many links than among few. Ten million take 9 GB on SQLite and 10.5 on
  PostgreSQL; on a machine whose memory they do not fit into, each of these pages is read from the disk first (0.14 ms
  on this one)."""
