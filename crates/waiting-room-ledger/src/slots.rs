//! The slots of a calendar minute, by which sites under [`Policy::Counters`](crate::Policy::Counters) admit
//! new visitors.
//!
//! Each site decides by a snapshot of the world that is some seconds old ([`WorldSnapshot`]). The free
//! slots of a minute are split among the sites by the traffic of the minute before ([`Slots`]). The rest,
//! Anywhere's slots, belongs to no site: all sites draw from one counter ([`TicketCounter`]).
//!
//! The method is the last one in Cloudflare's *How Waiting Room makes queueing decisions on
//! Cloudflare's highly distributed network* (2023), as far as the article describes it. The details
//! that it leaves open are decided here: the rounding of slots ([`apportion`]), the rule that the
//! first decision in a minute fixes that minute's slots, the floor of Anywhere's share
//! ([`SlotRules::any_floor`]), and the behaviour without a snapshot.
//!
//! | there | here |
//! |---|---|
//! | data centre | site, a [`SiteId`] |
//! | waiting room state | [`WorldSnapshot`] |
//! | `activeUsers` | [`WorldSnapshot::active`] |
//! | `globalWorkersActive`, `dataCenterWorkersActive` | [`WorldSnapshot::nodes`], [`WorldSnapshot::site_nodes`] |
//! | `trafficHistory` | [`WorldSnapshot::traffic`], of whole minutes only |
//! | `bucketId` | [`Minute`] |
//! | slots available, Anywhere slots | [`Slots`] |
//! | data center counter, Anywhere counter | a [`TicketCounter`] for each [`Pool`] |

mod counter;
mod rules;
mod snapshot;
mod split;
#[cfg(test)]
mod tests;

pub use self::{
    counter::{CounterReply, CounterRequest, Pool, TicketCounter},
    rules::SlotRules,
    snapshot::{Minute, SiteId, WorldSnapshot},
    split::{Slots, apportion},
};
