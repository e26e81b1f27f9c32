//! The attacks, each in a file of its own.

mod attack;
mod cookie_jar_filler;
mod early_polls;
mod key_flood;
mod made_up_keys;
mod odd_paths;
mod preflight_flood;
mod slow_readers;
mod ticket_hoard;
mod two_rooms;

pub(crate) use self::attack::Attack;
