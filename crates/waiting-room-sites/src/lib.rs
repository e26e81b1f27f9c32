//! One limit for several sites: how many new visitors each node may admit in a minute.
//!
//! A room that spans several data centres has no single place that knows everything. Each site
//! decides by a snapshot of the world that is some seconds old ([`WorldSnapshot`]). A policy splits
//! the free slots of a minute among the sites and their nodes, so that all decisions together keep
//! the limit.
//!
//! ```text
//!  WorldSnapshot ─► Slots ─► SiteAdmission ──arrive──► Admit or Queue
//!  (active, nodes,  (largest    ▲  │
//!   traffic by       remainder) │  └──Ask──► TicketCounter of the site, then Anywhere's
//!   minute)                     └─on_reply─ CounterReply ─┘
//! ```
//!
//! | policy | a node may admit in a minute | too early | too many |
//! |---|---|---|---|
//! | [`Even`](SlotPolicy::Even) | the site's slots ÷ its nodes, and Anywhere's ÷ all nodes | yes | no |
//! | [`Curve`](SlotPolicy::Curve) | the same ÷ fewer nodes, while few visitors are active | seldom | **yes** |
//! | [`Counters`](SlotPolicy::Counters) | the slots drawn from two counters: the site's, then Anywhere's | hardly | no |
//! | [`escrow`] | the slots that the site holds, each for as long as a visitor stays | no | **never** |
//!
//! "Too early" means that visitors are queued while slots are free, "too many" that more visitors
//! are admitted than there are slots.
//!
//! "Too many" refers to one minute and the slots of one snapshot. Visitors admitted after a
//! snapshot was made are not counted in it, and slots are fixed for each minute. So the free slots
//! of one snapshot can be used in the current minute, and again in every minute that begins before
//! a newer snapshot takes effect. Every policy of the article may therefore admit up to (free
//! slots) × (minute boundaries within the age of the snapshot + 1) visitors, but no more than
//! `new_users_per_minute` in any minute. With a snapshot that is some seconds old the factor is
//! one, or two around the boundary of a minute.
//!
//! The [`escrow`] is a separate method, with ledgers in place of snapshots. It queues no visitor
//! too early as long as the sites reach the global ledger well within the bounded wait. A site that
//! is cut off has only the slots that it holds.
//!
//! # The words of the article
//!
//! The policies are those of Cloudflare's *How Waiting Room makes queueing decisions on
//! Cloudflare's highly distributed network* (2023), as far as the article describes them. What it
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
//! Ours are: the rounding of slots ([`apportion`]), the rule that the first decision of a minute
//! fixes its slots, the floor of Anywhere's share ([`SlotRules::any_floor`]), [`Pacing`], and the
//! behaviour without a snapshot.
//!
//! # What it does not do
//!
//! It opens no connection. `SiteStore` in `waiting-room-ledger` runs [`Counters`](SlotPolicy::Counters)
//! and the [`escrow`] on real servers. A [`SiteAdmission`] returns the request for a counter, and its caller
//! carries the request to the counter and the reply back. The policies count new visitors only;
//! requests with a valid pass do not use them.

mod admission;
mod budget;
mod counter;
pub mod escrow;
mod minute;
mod rules;
mod sharing;
mod slots;
mod snapshot;

#[cfg(test)]
mod tests;

pub use self::{
    admission::{SiteAdmission, SlotDecision},
    counter::{CounterReply, CounterRequest, Pool, TicketCounter},
    minute::{Minute, Pacing},
    rules::{SlotPolicy, SlotRules},
    sharing::{apportion, fair_share, proportional_share},
    slots::Slots,
    snapshot::{SiteId, WorldSnapshot},
};
