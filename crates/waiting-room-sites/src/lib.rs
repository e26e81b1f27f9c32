//! Many sites, one limit: who may let in how many in this minute.
//!
//! With several data centres a room has no single place that knows everything. Each site decides
//! from a picture of the world that is some seconds old ([`WorldSnapshot`]), and a policy says how
//! the free slots of a minute are split, so that all decisions together keep the limit.
//!
//! ```text
//!  WorldSnapshot ─► Slots ─► SiteAdmission ──arrive──► Admit
//!  (active, nodes,  (largest   ▲  │            Queue
//!   traffic by       remainder)│  └──Ask──►  TicketCounter of the site, then Anywhere's
//!   minute)                    └──hear── CounterReply ──┘
//! ```
//!
//! | policy | a node may admit in a minute | too early | too many |
//! |---|---|---|---|
//! | [`Even`](SlotPolicy::Even) | the site's slots by its nodes, and Anywhere's by all nodes | yes | no |
//! | [`Curve`](SlotPolicy::Curve) | the same by fewer nodes than there are, while few are active | seldom | **yes** |
//! | [`Counters`](SlotPolicy::Counters) | what two counters say: the site's, then Anywhere's | hardly | no |
//! | [`escrow`] | what the site holds of the limit, for as long as a visitor stays | no | **never** |
//!
//! "Too many" is meant of one minute and the slots of one snapshot. Those who were let in after it
//! was made are not in it, and slots are fixed for each minute: what was free in one picture can be
//! given away in the minute that goes on, and again in every minute that begins before a newer
//! picture counts. So every policy of the article may let in as many as were free × (the turns of
//! the minute within the age of the snapshot + 1), where no minute has more than
//! `new_users_per_minute`. With a snapshot of some seconds that is once, and twice around the turn of
//! a minute. The [`escrow`] has no snapshot: it is another way to do it, with ledgers instead of
//! guesses, and stands by itself. Nobody is queued too early there only while the sites reach the
//! global ledger well within the bounded wait; a site that is cut off has only what it holds.
//!
//! # The words of the article
//!
//! The policies are those of Cloudflare's *How Waiting Room makes queueing decisions on
//! Cloudflare's highly distributed network* (2023), as far as it says how they work. What it
//! leaves open is decided here and marked as ours.
//!
//! | there | here |
//! |---|---|
//! | worker | node |
//! | data centre | site, a [`SiteId`] |
//! | waiting room state | [`WorldSnapshot`] |
//! | `activeUsers` | [`WorldSnapshot::active`] |
//! | `globalWorkersActive`, `dataCenterWorkersActive` | [`WorldSnapshot::nodes`], [`WorldSnapshot::site_nodes`] |
//! | `trafficHistory` | [`WorldSnapshot::traffic`], of whole minutes only |
//! | `bucketId` | [`Minute`] |
//! | slots available, Anywhere slots | [`Slots`] |
//! | `workerMultiplier`, `curveFactor` | [`SlotPolicy::multiplier`], `curve_factor` |
//! | data center counter, Anywhere counter | a [`TicketCounter`] for each [`Pool`] |
//!
//! Ours are: how slots are rounded ([`apportion`]), that the slots of a minute are fixed by its
//! first decision, the floor of Anywhere's share ([`SlotRules::any_floor`]), [`Pacing`], and what
//! happens without a snapshot.
//!
//! # What it does not do
//!
//! It opens no connection: an [`SiteAdmission`] says what to ask, and somebody else carries the question
//! to the counter and the reply back. The policies count new visitors only; whoever has a pass
//! never comes here.

mod budget;
mod counter;
pub mod escrow;
mod minute;
mod rules;
mod sharing;
mod slots;
mod snapshot;
mod usher;

#[cfg(test)]
mod tests;

pub use self::{
    counter::{CounterReply, CounterRequest, Pool, TicketCounter},
    minute::{Minute, Pacing},
    rules::{SlotPolicy, SlotRules},
    sharing::{apportion, fair_share, proportional_share},
    slots::Slots,
    snapshot::{SiteId, WorldSnapshot},
    usher::{SiteAdmission, SlotDecision},
};
