//! The tables and statements. Counts and times are unsigned, and are stored as the signed numbers
//! with the same bits. All of these numbers are positive, except for random bits and false reports.

/// The tables, unless they exist.
pub(super) const TABLES: &str = "
CREATE TABLE IF NOT EXISTS waiting_room_ledger (
    room            text    PRIMARY KEY,
    term            bigint  NOT NULL,
    batch           bigint  NOT NULL,
    holder          text,
    limit_slots     bigint  NOT NULL,
    session_ns      bigint  NOT NULL,
    lease_ns        bigint  NOT NULL,
    drift_margin_ns bigint  NOT NULL,
    heartbeat_ns    bigint  NOT NULL,
    borrow_wait_ns  bigint  NOT NULL,
    timeline        text    NOT NULL,
    must_recover    boolean NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS waiting_room_ledger_site (
    room              text     NOT NULL REFERENCES waiting_room_ledger ON DELETE CASCADE,
    site              integer  NOT NULL,
    epoch_term        bigint   NOT NULL,
    epoch_count       bigint   NOT NULL,
    standing          smallint NOT NULL,
    incarnation       bigint,
    granted           bigint   NOT NULL,
    returned          bigint   NOT NULL,
    heard_ns          bigint,
    is_drained        boolean  NOT NULL,
    fence_term        bigint,
    fence_count       bigint,
    fence_incarnation bigint,
    PRIMARY KEY (room, site)
) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS waiting_room_ledger_claim (
    room        text    NOT NULL REFERENCES waiting_room_ledger ON DELETE CASCADE,
    site        integer NOT NULL,
    epoch_term  bigint  NOT NULL,
    epoch_count bigint  NOT NULL,
    visitor     bytea   NOT NULL,
    PRIMARY KEY (room, site, epoch_term, epoch_count, visitor)
);
";

/// The settings that decide whether the server keeps what it acknowledges; see `durability.rs`. The
/// first setting is kept for the connection.
pub(super) const SETTINGS: &str = "
SELECT pg_is_in_recovery() AS is_recovering,
       set_config('synchronous_commit', current_setting('synchronous_commit'), false) AS commit,
       current_setting('fsync') AS fsync,
       current_setting('synchronous_standby_names') AS standbys
";

/// The identity of the server: the identifier of its database cluster, which its copies have in
/// common, and its timeline, which changes with each promotion and restoration.
pub(super) const LINEAGE: &str = "
SELECT system_identifier::text, left(pg_walfile_name(pg_current_wal_lsn()), 8)
FROM pg_control_system()
";

/// The state that a standby watches, and the settings that may have changed since the connection was opened.
pub(super) const WATCH: &str = "
SELECT term, batch, holder IS NOT NULL AS is_held, must_recover,
       current_setting('fsync') AS fsync,
       current_setting('synchronous_standby_names') AS standbys
FROM waiting_room_ledger WHERE room = $1
";

pub(super) const INSERT_ROOM: &str = "
INSERT INTO waiting_room_ledger
VALUES ($1, $2, 0, NULL, $3, $4, $5, $6, $7, $8, $9, false)
ON CONFLICT DO NOTHING
";

/// Creates the accounts of sites that have none; standing 0 is `Away`. Sites that have an account
/// are no longer drained.
pub(super) const INSERT_SITES: &str = "
INSERT INTO waiting_room_ledger_site
SELECT $1, site, epoch_term, epoch_count, 0, NULL, 0, 0, NULL, false, NULL, NULL, NULL
FROM unnest($2::integer[], $3::bigint[], $4::bigint[]) AS new (site, epoch_term, epoch_count)
ON CONFLICT (room, site) DO UPDATE SET is_drained = false
";

/// Fences the holder: its next batch has another term. The next take-over raises the term again.
pub(super) const RECOVER: &str = "
UPDATE waiting_room_ledger
SET must_recover = true, timeline = $2, holder = NULL, batch = batch + $6,
    term = greatest(term, least(greatest(term + $4, $5), 4294967294)),
    limit_slots = coalesce($3, limit_slots)
WHERE room = $1
RETURNING term, limit_slots, session_ns, lease_ns, drift_margin_ns, heartbeat_ns, borrow_wait_ns
";

/// Declares that acknowledged batches are missing: from now on, no ledger holds the room or takes
/// it over before the room is recovered, because no server has this lineage.
pub(super) const LOSE: &str = "
UPDATE waiting_room_ledger
SET timeline = 'lost', holder = NULL, term = least(term + 1, 4294967295)
WHERE room = $1 AND NOT must_recover AND timeline <> 'lost'
";

/// Fences all accounts of sites when it is unknown which account was the last.
pub(super) const FENCE: &str = "
UPDATE waiting_room_ledger_site SET fence_term = $3, fence_count = $4
WHERE room = $1 AND site = ANY ($2::integer[])
";

pub(super) const RELEASE: &str =
    "UPDATE waiting_room_ledger SET holder = NULL WHERE room = $1 AND term = $2";

/// Takes over from the term and the batch that were seen. A second process that has seen the same
/// values finds another term.
pub(super) const TAKE_OVER: &str = "
UPDATE waiting_room_ledger AS ledger
SET term = $2, holder = $3, timeline = $4
FROM (SELECT room, timeline FROM waiting_room_ledger WHERE room = $1 FOR UPDATE) AS before
WHERE ledger.room = before.room AND ledger.term = $5 AND ledger.batch = $6
RETURNING limit_slots, session_ns, lease_ns, drift_margin_ns, heartbeat_ns, borrow_wait_ns,
          must_recover, before.timeline AS timeline_before
";

pub(super) const SELECT_SITES: &str = "
SELECT site, epoch_term, epoch_count, standing, incarnation, granted, returned, heard_ns,
       is_drained, fence_term, fence_count, fence_incarnation
FROM waiting_room_ledger_site WHERE room = $1
";

pub(super) const SELECT_CLAIMS: &str = "
SELECT site, epoch_term, epoch_count, visitor FROM waiting_room_ledger_claim WHERE room = $1
";

/// Stores a batch if the term is still the same, the batch is newer than the last batch, and the
/// last acknowledged batch is still there. Returns how many rooms it has found, which is one
/// or none, and the settings as in [`WATCH`].
pub(super) const KEEP: &str = "
WITH holder AS (
    UPDATE waiting_room_ledger
    SET batch = $3,
        limit_slots = coalesce($4, limit_slots),
        session_ns = coalesce($5, session_ns),
        lease_ns = coalesce($6, lease_ns),
        drift_margin_ns = coalesce($7, drift_margin_ns),
        heartbeat_ns = coalesce($8, heartbeat_ns),
        borrow_wait_ns = coalesce($9, borrow_wait_ns),
        must_recover = must_recover AND $5::bigint IS NULL
    WHERE room = $1 AND term = $2 AND batch >= $27 AND batch < $3
    RETURNING room
), changed AS (
    SELECT * FROM unnest(
        $11::integer[], $12::bigint[], $13::bigint[], $14::smallint[], $15::bigint[],
        $16::bigint[], $17::bigint[], $18::bigint[], $19::boolean[], $20::bigint[], $21::bigint[],
        $22::bigint[]
    ) AS account (
        site, epoch_term, epoch_count, standing, incarnation, granted, returned, heard_ns,
        is_drained, fence_term, fence_count, fence_incarnation
    )
), removed AS (
    DELETE FROM waiting_room_ledger_site AS site USING holder
    WHERE site.room = holder.room AND site.site = ANY ($10::integer[])
), stored AS (
    INSERT INTO waiting_room_ledger_site SELECT holder.room, changed.* FROM holder, changed
    ON CONFLICT (room, site) DO UPDATE SET
        epoch_term = excluded.epoch_term,
        epoch_count = excluded.epoch_count,
        standing = excluded.standing,
        incarnation = excluded.incarnation,
        granted = excluded.granted,
        returned = excluded.returned,
        heard_ns = excluded.heard_ns,
        is_drained = excluded.is_drained,
        fence_term = excluded.fence_term,
        fence_count = excluded.fence_count,
        fence_incarnation = excluded.fence_incarnation
), over AS (
    DELETE FROM waiting_room_ledger_claim AS claim USING holder
    WHERE claim.room = holder.room AND (
        claim.site = ANY ($10::integer[])
        OR EXISTS (
            SELECT FROM changed
            WHERE changed.site = claim.site
              AND (changed.epoch_term, changed.epoch_count)
                  <> (claim.epoch_term, claim.epoch_count)
        )
    )
), claimed AS (
    INSERT INTO waiting_room_ledger_claim
    SELECT holder.room, claim.*
    FROM holder, unnest($23::integer[], $24::bigint[], $25::bigint[], $26::bytea[])
        AS claim (site, epoch_term, epoch_count, visitor)
    ON CONFLICT DO NOTHING
)
SELECT count(*) AS stored,
       current_setting('fsync') AS fsync,
       current_setting('synchronous_standby_names') AS standbys
FROM holder
";
