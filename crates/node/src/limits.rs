//! Every bound in one place.

use std::time::Duration;

/// A write that too few replicas acknowledge is given up after this.
pub const WRITE_TIMEOUT: Duration = Duration::from_millis(2_000);
/// A node that has not said by then whether it knows how wide a keyspace is is asked again.
pub const ASK_WIDTH_TIMEOUT: Duration = Duration::from_millis(500);
/// Pause before those that do not know it are asked again.
pub const ASK_WIDTH_PAUSE: Duration = Duration::from_millis(10);
/// One attempt at handing a write to an entry replica.
pub const ENTRY_TIMEOUT: Duration = Duration::from_millis(2_500);
/// Until so long after its beginning an attempt at a write may be stamped, where stamps do not run
/// ahead of the wall clock.
pub const ATTEMPT_TIME: Duration = ENTRY_TIMEOUT;
/// The same where they do.
pub const ATTEMPT_TIME_LEAST: Duration = Duration::from_millis(500);
/// An event loop that did nothing for so long has stalled: what came in the meantime may have been
/// given up.
pub const STALL: Duration = Duration::from_secs(1);
/// After a stall all that comes for so long counts as having waited.
pub const STALL_GRACE: Duration = Duration::from_millis(200);
/// How often a loop that has nothing to do looks whether it stalled.
pub const STALL_INTERVAL: Duration = Duration::from_millis(200);
/// How often clocks are compared, and how often while no majority is known to agree.
pub const CLOCK_INTERVAL: Duration = Duration::from_secs(1);
/// See [`CLOCK_INTERVAL`].
pub const CLOCK_START_INTERVAL: Duration = Duration::from_millis(50);
/// A start that reaches nobody trusts its own clock after so long.
pub const CLOCK_PATIENCE: Duration = Duration::from_secs(2);
/// A deadline of a client further away than this is a mistake.
pub const DEADLINE_MOST: Duration = Duration::from_secs(3_600);
/// A floor of a client that is further beyond what may be stamped is a mistake; a nearer one comes in time.
pub const AFTER_WAIT_MOST: Duration = Duration::from_secs(60);
/// A read that too few replicas answer is given up after this.
pub const READ_TIMEOUT: Duration = Duration::from_millis(2_000);
/// A read asks one more replica after each such wait.
pub const HEDGE_AFTER: Duration = Duration::from_millis(15);
/// A replica must acknowledge a batch within this, or the stream starts again.
pub const BATCH_TIMEOUT: Duration = Duration::from_secs(10);
/// A second connection, for pages, goes when nothing was asked over it for so long.
pub const ASIDE_IDLE: Duration = Duration::from_secs(30);
/// How long a page waits for it before it is asked for over the first.
pub const ASIDE_WAIT: Duration = Duration::from_millis(500);
/// How often it is looked whether it is there.
pub const ASIDE_LOOK: Duration = Duration::from_millis(2);
/// Calls that page through data.
pub const PAGE_TIMEOUT: Duration = Duration::from_secs(10);
/// Counting the keys of a shard for its status.
pub const COUNT_TIMEOUT: Duration = Duration::from_millis(500);
/// For how long what was counted is told again: so little work as one count is it at most.
pub const COUNT_REST: Duration = Duration::from_secs(1);
/// Small calls between shards.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(2);
/// Pause before a broken stream is tried again.
pub const RETRY_PAUSE: Duration = Duration::from_millis(200);
/// How often shards exchange vectors.
pub const GOSSIP_INTERVAL: Duration = Duration::from_millis(500);
/// A follower asks for a sync of what it waits for when nobody else has for so long.
pub const SYNC_AFTER: Duration = Duration::from_millis(100);
/// Bytes of entries or stored records that a follower reads in one step.
pub const STEP_BYTES: usize = 64 << 10;
/// An entry that a follower waits for, and of which nobody says that enough have it, is read by a majority
/// after so long: that brings it to them.
pub const SETTLE_AFTER: Duration = Duration::from_millis(600);
/// Keys read so at once.
pub const SETTLE_READS: usize = 16;
/// Keys read so in one go.
pub const SETTLE_KEYS: usize = 256;
/// The same while a shard that lost its data is filled.
pub const REFILL_INTERVAL: Duration = Duration::from_millis(20);
/// How often a shard that has just started looks whether others have been heard.
pub const HEAR_INTERVAL: Duration = Duration::from_millis(5);
/// How long it waits for connections to those it has none to, before it answers reads.
pub const HEAR_PATIENCE: Duration = Duration::from_millis(250);
/// How long it waits for the word of those it is connected to.
pub const HEAR_PATIENCE_MAX: Duration = Duration::from_secs(2);
/// Deletes younger than this are never forgotten: it is how far replicas may lag without
/// keeping older deletes from being forgotten.
pub const FORGET_AFTER: Duration = Duration::from_secs(5);
/// How often what is over is looked for.
pub const EXPIRY_INTERVAL: Duration = Duration::from_secs(2);
/// What its replica has not ended so long after its time, any other does.
pub const EXPIRY_LATE: Duration = Duration::from_secs(30);
/// Values looked at in one step, and the pause behind each: clients come first.
pub const EXPIRY_LOOKED: usize = 256;
/// See [`EXPIRY_LOOKED`].
pub const EXPIRY_PAUSE: Duration = Duration::from_millis(5);
/// How often a shard looks for copies that no vector names: their writers have said all they have.
pub const ORPHAN_INTERVAL: Duration = Duration::from_secs(5);
/// The same, at most, while they cannot be sent on.
pub const ORPHAN_PAUSE_MAX: Duration = Duration::from_secs(300);
/// Others hear within this that a keyspace was created.
pub const KEYSPACE_WAIT: Duration = Duration::from_secs(2);
/// How often it is looked whether they have.
pub const KEYSPACE_PAUSE: Duration = Duration::from_millis(5);
/// Others hear within this that a drop was taken back.
pub const UNDROP_WAIT: Duration = Duration::from_secs(1);
/// How often it is looked whether they have.
pub const UNDROP_PAUSE: Duration = Duration::from_millis(10);
/// A change of users is answered within this, whoever has not seen it: longer than a call to one that is silent takes.
pub const USERS_WAIT: Duration = Duration::from_secs(3);
/// How often it is looked whether all have.
pub const USERS_PAUSE: Duration = Duration::from_millis(10);
/// Passwords that are checked at a time: each takes 19 MiB, and a processor for some 20 ms.
pub const LOGINS_AT_ONCE: usize = 2;
/// Those that are checked and wait for it; others are answered 503.
pub const LOGINS_WAITING: usize = 64;
/// Those of one address.
pub const LOGINS_WAITING_OF_ONE: usize = 16;
/// Passwords that are remembered to fit.
pub const LOGINS_REMEMBERED: usize = 1_024;
/// How long a request waits for a replica whose connection is coming.
pub const REACH_WAIT: Duration = Duration::from_millis(300);
/// Whether another shard reaches this one is answered within this.
pub const REACH_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a node that starts waits for what may never come about.
pub const PATIENCE: Duration = Duration::from_secs(3);
/// The others hear within this that a node is about to stop.
pub const LEAVE_TIMEOUT: Duration = Duration::from_millis(200);
/// What was sent to a node before it said that it is about to stop is there after this.
pub const LEAVE_GRACE: Duration = Duration::from_millis(30);
/// How long connections that are kept alive may stay before a stop, for clients to hear of it.
pub const CLOSE_NOTICE: Duration = Duration::from_millis(200);
/// A stop waits no longer for requests under way.
pub const CLOSE_WAIT: Duration = Duration::from_secs(3);
/// How often overdue writes are looked for.
pub const SWEEP_INTERVAL: Duration = Duration::from_millis(100);
/// For how long it counts which deletes all replicas know. That is looked at with the store's memory.
pub const KNOWN_FOR: Duration = Duration::from_secs(10);
/// How often the store's memory is looked at.
pub const FLUSH_INTERVAL: Duration = Duration::from_millis(250);

/// How often changes of the members are looked after.
pub const MOVE_INTERVAL: Duration = Duration::from_millis(100);
/// How often a shard that joins claims what it has copied.
pub const CLAIM_INTERVAL: Duration = Duration::from_secs(5);
/// Longer than any read that goes by replicas there were: then what they hold may be dropped.
pub const SWEEP_AFTER: Duration = Duration::from_secs(3);

/// While partitions are copied, the tails of their sources' logs are read so often.
pub const TAIL_INTERVAL: Duration = Duration::from_secs(2);
/// Pages of a log's tail that are read before the copy goes on.
pub const TAIL_PAGES: usize = 16;
/// What is pinned of a log stays so long after its holder last asked for it.
pub const PIN_LEASE: Duration = Duration::from_secs(60);
/// And so long while its position does not move.
pub const PIN_STILL: Duration = Duration::from_secs(1_800);
/// How often it is looked how far replicas are behind.
pub const LAG_INTERVAL: Duration = Duration::from_secs(1);
/// Writers are slowed only for a replica that has acknowledged something within this,
pub const LAG_MOVES: Duration = Duration::from_secs(5);
/// and no longer than this before it was near the log's end again.
pub const LAG_SLOWS_MAX: Duration = Duration::from_secs(600);
/// A write that is slowed waits no longer than this.
pub const SLOW_WAIT_MAX: Duration = Duration::from_secs(1);
/// So much is written all the same.
pub const SLOW_BYTES_PER_S_MIN: f64 = 262_144.0;
/// Bytes of records that are put on disk in one step of a copy.
pub const CHUNK_BYTES: usize = 8 << 20;
/// Partitions that are copied at once: while pages of some are asked for, others are stored.
pub const PARTS_AT_ONCE: usize = 4;
/// Chunks that wait to be put on disk.
pub const CHUNKS_WAITING: usize = 2;
/// Bytes of entries in one batch to a replica.
pub const BATCH_BYTES: usize = 256 << 10;
/// Batches under way to one replica.
pub const BATCHES_IN_FLIGHT: usize = 32;
/// Bytes under way to one replica.
pub const BYTES_IN_FLIGHT: usize = 4 << 20;
/// Bytes of one page of a pull: large, for each page finds its place in a segment anew.
pub const PULL_BYTES: usize = 4 << 20;
/// Bytes of the log that are looked at for one page, whatever is found: a segment.
pub const LOOK_BYTES: usize = 32 << 20;
/// Bytes of one page of a backfill or scan.
pub const PAGE_BYTES: usize = 512 << 10;
/// A backfill goes at least this fast: a replica that is not whole is nobody's.
pub const BACKFILL_BYTES_PER_S_MIN: f64 = 16_000_000.0;
/// As many bytes looked at cost as much as one that is sent and stored.
pub const BACKFILL_LOOKED_PER_SENT: usize = 8;
/// Bytes of pages that may be on their way to one who takes them over.
pub const STREAM_BYTES: usize = 2 * PAGE_BYTES;
/// A stream of pages ends when so much was looked at for it, and its reader opens the next: so that
/// where little of that is sent its reader's pace holds, too.
pub const STREAM_LOOK_BYTES: usize = 16 << 20;
/// Pages of a backfill in that, where little of what is looked at is sent.
pub const PAGES_LOOKED: usize = 4;
/// Items of one page.
pub const PAGE_ITEMS: usize = 2_000;
/// Walks that a shard keeps between the pages of scans.
pub const WALKS: usize = 16;
/// Bytes that they may hold.
pub const WALKS_BYTES: usize = 64 << 20;
/// How long a walk is gone on with: it pins files and memtables.
pub const WALK_AGE: Duration = Duration::from_secs(2);
/// Entries applied to the store in one batch, while all else waits.
pub const APPLY_ENTRIES: usize = 512;
/// Bytes of keys and values from which on such a batch takes no more.
pub const APPLY_BYTES: usize = 1 << 20;
/// Entries waiting for the store beyond which replicas are asked to wait.
pub const APPLY_QUEUE: usize = 100_000;
/// Bytes queued towards one shard.
pub const QUEUE_BYTES: usize = 128 << 20;
/// Times a write is stamped again because a replica knows a newer version.
pub const RESTAMPS: u8 = 8;
/// Stamps far ahead are looked for and mended for so long in one request.
pub const MEND_TIME: Duration = Duration::from_secs(3);
/// Records that are mended at once.
pub const MEND_AT_ONCE: usize = 64;
/// Records that a request names.
pub const MEND_NAMED: usize = 20;
/// After a copy that failed for a stamp far ahead, or for a damaged file here, the next is tried so
/// much later.
pub const COPY_PAUSE: Duration = Duration::from_secs(10);
/// Bytes that a body or an answer has before it counts against the memory for them: smaller ones are
/// bounded by the number of connections.
pub const COUNTED_BYTES: usize = 16 << 10;
/// So much of a body must come, and of an answer be taken, in each [`SEND_TIME`] and [`TAKE_TIME`].
pub const PACE_BYTES: usize = 4 << 10;
/// A client that has begun a body must send on within this.
pub const SEND_TIME: Duration = Duration::from_secs(10);
/// A client must take some of its answer within this.
pub const TAKE_TIME: Duration = Duration::from_secs(60);
/// The largest request body that can be allowed: what is forwarded, replicated, paged and copied
/// takes it in one frame, with a page of others before it.
pub const BODY_BYTES_MAX: usize = dunlin_rpc::FRAME_BYTES_MAX - (16 << 20);
/// Longest key, in bytes.
pub const KEY_BYTES: usize = 64 << 10;
