//! The attacks, one file each.

pub(crate) mod cookie_jar_filler;
pub(crate) mod dear_headers;
pub(crate) mod early_polls;
pub(crate) mod hoard_in_time;
pub(crate) mod hotlinks;
pub(crate) mod key_flood;
pub(crate) mod ledger_flood;
pub(crate) mod made_up_keys;
pub(crate) mod odd_paths;
pub(crate) mod preflight_flood;
pub(crate) mod slot_hoard;
pub(crate) mod slow_readers;
pub(crate) mod slow_uploads;
pub(crate) mod ticket_hoard;
pub(crate) mod two_rooms;
pub(crate) mod void_proofs;
