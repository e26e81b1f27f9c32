//! The attacks, each in a file of its own.

mod attack;
mod made_up_keys;
mod preflight_flood;

pub(crate) use self::attack::Attack;
