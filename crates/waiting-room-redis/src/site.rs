//! The accounts of a site in its room, for limits that the rooms of several sites share.
//!
//! The room of a site admits visitors to the slots that a global ledger has granted to the site.
//! The scripts keep the accounts (see `lua/room/site.lua`), and this module carries their reports
//! and the messages to them. It deals only with numbers: the message types belong to
//! `waiting-room-ledger`, which users with a single site do not compile. Applications use
//! `SiteStore` from `waiting-room-ledger`.

use std::{fmt, time::Duration};

use waiting_room_core::{StoreError, Timestamp};

use crate::{
    RedisStore,
    clock::{from_micros, micros},
    reply::{ReplyFields, malformed},
    scripts::Verb,
};

/// The number of an epoch: the term in which it began, and its count in that term.
pub type EpochNumbers = (u32, u32);

/// One of the limits that sites share, each with an account of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "its only user has to handle each limit")]
pub enum SharedLimit {
    /// The limit on active visitors.
    ActiveVisitors,
    /// The limit on new visitors, whose slots are places in the minute.
    NewVisitors,
}

/// The report of a node to the room of its site, usually sent once a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeReport {
    /// The random name of the node.
    pub node: u64,
    /// The random bits of the incarnation that begins in each account without one.
    pub incarnation: u64,
    /// The number of new visitors at the node since its last report.
    pub arrivals: u64,
    /// The number of visitors that wait for a slot at the door of the node and have no place in line.
    pub at_door: u32,
    /// The time for which `at_door` is valid, unless the node reports again.
    pub door_for: Duration,
    /// A lower bound on the time of the room's clock, as far as the node knows. A lease that ends
    /// earlier is over.
    pub judged: Timestamp,
    /// The time for which the node speaks for the site, if it does.
    pub speaks_for: Duration,
    /// The time for which a place in the minute is held, if the sites share the limit on new
    /// visitors. Only the value of the node that speaks for the site matters.
    pub minute: Option<Duration>,
}

/// The state of a site after a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteReport {
    /// The time of the report, by the room's clock.
    pub at: Timestamp,
    /// Whether the node speaks for the site.
    pub speaks: bool,
    /// The number of visitors who may enter.
    pub free: u64,
    /// The account of the limit on active visitors.
    pub slots: AccountReport,
    /// The account of the limit on new visitors, if the sites share it.
    pub minute: Option<AccountReport>,
    /// The counts of the site, if it counts instead of holding slots.
    pub counted: Option<Counted>,
}

/// The state of an account after a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountReport {
    /// The random bits of the incarnation.
    pub incarnation: u64,
    /// The highest term that the site knows.
    pub term: u32,
    /// The epoch of the account or, without an account, the newest epoch that the site knows.
    pub epoch: EpochNumbers,
    /// Whether the site has an account.
    pub has_account: bool,
    /// The total of slots ever granted in this epoch.
    pub granted: u64,
    /// The total of slots ever given back in this epoch.
    pub returned: u64,
    /// The slots in use, or kept for visitors who are about to take them.
    pub used: u64,
    /// The slots that visitors are waiting for.
    pub wanted: u64,
    /// The moving average of new visitors per 1000 seconds.
    pub demand: u64,
    /// The end of the lease, by the room's clock.
    pub lease_end: Timestamp,
    /// Whether visitors wait at other sites, so that unused slots are given back at once.
    pub is_recalled: bool,
    /// The visitors in line who want slots and have waited longest, in buckets of a few seconds:
    /// the arrival of the first visitor in each bucket, and the number of visitors in the bucket.
    /// Visitors in random order are left out.
    pub front: Vec<(Timestamp, u32)>,
}

/// The counts of a site that admits visitors by the slots of a minute, see [`GlobalNews::Plan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counted {
    /// The number of active visitors.
    pub active: u32,
    /// The number of the current minute since the Unix epoch, by the room's clock.
    pub minute: u32,
    /// The number of new visitors who were admitted in the previous minute.
    pub admitted_before: u32,
    /// The total of tickets from Anywhere's counter that the site has in this minute.
    pub tickets: u32,
    /// The total of tickets that the site wants, including those that it has.
    pub wanted: u32,
    /// The number of Anywhere's slots in this minute.
    pub anywhere: u32,
    /// Whether the slots of this minute were computed from a recent snapshot.
    pub knows_world: bool,
    /// Whether Anywhere's counter has no ticket left in this minute.
    pub is_dry: bool,
}

/// The slots of one minute at a site that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinutePlan {
    /// The number of the minute since the Unix epoch.
    pub minute: u32,
    /// The slots of the site.
    pub slots: u32,
    /// The slots of Anywhere's counter.
    pub anywhere: u32,
    /// Whether the slots were computed from a recent snapshot. If so, they do not change during the
    /// minute.
    pub knows_world: bool,
}

/// The times from the rules of the ledgers that the scripts need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteTimes {
    /// The time for which a pass is valid, or a slot is held.
    pub session: Duration,
    /// The maximum time by which two clocks may drift apart during a lease and a session together.
    pub margin: Duration,
    /// The interval of the heartbeats.
    pub heartbeat: Duration,
}

/// A message of the global ledger, without its term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GlobalNews {
    /// The slots that the site may use.
    Grant {
        /// The epoch of the account.
        epoch: EpochNumbers,
        /// The send time, by the room's clock, of the message that this one replies to.
        heard: Timestamp,
        /// The duration of the lease, which began at `heard`.
        lease: Duration,
        /// The total of slots ever granted.
        granted: u64,
        /// The number of unused slots that the site may keep.
        reserve: u64,
        /// Whether unused slots have to be given back at once.
        recall: bool,
    },
    /// The slots of this minute and the next, for a site that counts instead of holding slots. The
    /// room admits this many new visitors, whether or not earlier visitors leave.
    ///
    /// A plan has no effect while the site has a lease.
    Plan {
        /// The slots that the site could use if no other site took any, including those in use. The
        /// cookie test depends on this number, and so does the choice of the visitors who are told
        /// that they are not next.
        ceiling: u32,
        /// The plans of the two minutes, each of which is used when its minute begins.
        minutes: [MinutePlan; 2],
    },
    /// The site does not get an account, or has lost its account.
    Refused {
        /// The incarnation that is refused.
        incarnation: u64,
        /// The epoch that the site had named.
        over: EpochNumbers,
        /// Whether the incarnation was fenced, so that the site has to begin another one.
        is_fenced: bool,
    },
    /// A report is requested.
    Report,
    /// An epoch has ended.
    Stale {
        /// The epoch that the site had named.
        over: EpochNumbers,
        /// The newest epoch of the site.
        current: EpochNumbers,
    },
    /// The tickets of Anywhere's counter for a site that counts.
    Tickets {
        /// The incarnation that the tickets are for.
        incarnation: u64,
        /// The number of the minute that the tickets are for, since the Unix epoch.
        minute: u32,
        /// The total of tickets that were drawn for the site in this minute.
        total: u32,
        /// Whether no ticket is left in this minute.
        is_dry: bool,
    },
    /// The site has a new account.
    Welcome {
        /// The epoch of the account.
        epoch: EpochNumbers,
        /// The incarnation that the account is for.
        incarnation: u64,
        /// The send time of the request, by the room's clock.
        heard: Timestamp,
        /// The duration of the lease, which began at `heard`.
        lease: Duration,
        /// The slots that the site had in its last epoch.
        inherited: u64,
    },
}

impl RedisStore {
    /// Sends a report to the room of a site. The room gives back the slots that it does not need,
    /// and returns the site's report for the global ledger.
    ///
    /// # Cancel safety
    ///
    /// The report may have taken effect. Repeating it is harmless, except that its arrivals count
    /// twice.
    ///
    /// # Errors
    ///
    /// Returns the same errors as the operations of the store.
    #[doc(hidden)]
    pub async fn report_of_site(&self, report: &NodeReport) -> Result<SiteReport, StoreError> {
        let NodeReport { node, incarnation, arrivals, at_door, judged, .. } = report;
        let door_us = whole(report.door_for);
        let speaks_us = whole(report.speaks_for);
        let judged_us = micros(*judged);
        let held_us = report.minute.map_or(0, rounded_up);
        let argument = format!(
            "{node:016x} {incarnation:016x} {arrivals} {at_door} {door_us} {judged_us} {speaks_us} \
             {held_us}"
        );
        let (head, mut said) = self.ask(Verb::Report, vec![argument.into_bytes()], None).await?;
        let speaks = said.flag()?;
        let free = said.number()?;
        let none = || malformed("a site has no account of slots".to_owned());
        let slots = account(said.fields()?)?.ok_or_else(none)?;
        let minute = account(said.fields()?)?;
        let counted = counted(said.fields()?)?;
        Ok(SiteReport { at: head.now, speaks, free, slots, minute, counted })
    }

    /// Applies a message from the global ledger of a limit to the room of a site. Returns whether
    /// the site has to report at once, and the number of visitors who may enter.
    ///
    /// # Cancel safety
    ///
    /// The message may have taken effect. Repeating it is harmless.
    ///
    /// # Errors
    ///
    /// Returns the same errors as the operations of the store.
    #[doc(hidden)]
    pub async fn hear_for_site(
        &self,
        limit: SharedLimit,
        term: u32,
        news: &GlobalNews,
        times: &SiteTimes,
    ) -> Result<(bool, u64), StoreError> {
        // The times are rounded so that a lease is never longer, and a slot is never held for less
        // time, than the global ledger assumes.
        let session_us = rounded_up(times.session);
        let margin_us = rounded_up(times.margin);
        let heartbeat_us = whole(times.heartbeat);
        let argument = format!("{limit} {session_us} {margin_us} {heartbeat_us} {term} {news}");
        let (_, mut said) = self.ask(Verb::Hear, vec![argument.into_bytes()], None).await?;
        Ok((said.flag()?, said.number()?))
    }
}

/// The name of the account, as the scripts use it.
impl fmt::Display for SharedLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ActiveVisitors => "slots",
            Self::NewVisitors => "minute",
        })
    }
}

/// The words of the message, as `lua/hear.lua` reads them.
impl fmt::Display for GlobalNews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grant { epoch: (term, count), heard, lease, granted, reserve, recall } => {
                let heard_us = micros(*heard);
                let lease_us = whole(*lease);
                let recall = u8::from(*recall);
                write!(f, "grant {term} {count} {heard_us} {lease_us} {granted} {reserve} {recall}")
            }
            Self::Plan { ceiling, minutes } => {
                write!(f, "plan {ceiling}")?;
                minutes.iter().try_for_each(|plan| {
                    let MinutePlan { minute, slots, anywhere, knows_world } = plan;
                    write!(f, " {minute} {slots} {anywhere} {}", u8::from(*knows_world))
                })
            }
            Self::Refused { incarnation, over: (term, count), is_fenced } => {
                write!(f, "refused {incarnation:016x} {term} {count} {}", u8::from(*is_fenced))
            }
            Self::Report => f.write_str("report"),
            Self::Stale { over: (term, count), current } => {
                write!(f, "stale {term} {count} {} {}", current.0, current.1)
            }
            Self::Tickets { incarnation, minute, total, is_dry } => {
                write!(f, "tickets {incarnation:016x} {minute} {total} {}", u8::from(*is_dry))
            }
            Self::Welcome { epoch: (term, count), incarnation, heard, lease, inherited } => {
                let heard_us = micros(*heard);
                let lease_us = whole(*lease);
                write!(
                    f,
                    "welcome {term} {count} {incarnation:016x} {heard_us} {lease_us} {inherited}"
                )
            }
        }
    }
}

/// Reads an account, or returns `None` if there is none, because the limit belongs to the site
/// alone.
fn account(mut said: ReplyFields) -> Result<Option<AccountReport>, StoreError> {
    if said.is_empty() {
        return Ok(None);
    }
    Ok(Some(AccountReport {
        incarnation: bits(&mut said)?,
        term: said.number()?,
        epoch: (said.number()?, said.number()?),
        has_account: said.flag()?,
        granted: said.number()?,
        returned: said.number()?,
        used: said.number()?,
        wanted: said.number()?,
        demand: said.number()?,
        lease_end: said.time()?,
        is_recalled: said.flag()?,
        front: front(said.fields()?)?,
    }))
}

/// Reads the counts of a site, or returns `None` if the site holds slots.
fn counted(mut said: ReplyFields) -> Result<Option<Counted>, StoreError> {
    let Some(active) = said.next_number_if_any()? else { return Ok(None) };
    Ok(Some(Counted {
        active,
        minute: said.number()?,
        admitted_before: said.number()?,
        tickets: said.number()?,
        wanted: said.number()?,
        anywhere: said.number()?,
        knows_world: said.flag()?,
        is_dry: said.flag()?,
    }))
}

/// Reads the front of the line.
fn front(mut said: ReplyFields) -> Result<Vec<(Timestamp, u32)>, StoreError> {
    let mut front = Vec::new();
    while let Some(arrived_us) = said.next_number_if_any()? {
        front.push((from_micros(arrived_us), said.number()?));
    }
    Ok(front)
}

fn bits(said: &mut ReplyFields) -> Result<u64, StoreError> {
    let text = said.text()?;
    u64::from_str_radix(&text, 16).map_err(|_| malformed(format!("{text:?} is not an incarnation")))
}

const fn whole(duration: Duration) -> u128 {
    duration.as_micros()
}

const fn rounded_up(duration: Duration) -> u128 {
    duration.as_nanos().div_ceil(1_000)
}
