//! Models of a site, and the parts of the protocol that the models need. Tests and studies compare
//! the production code with them. The module is behind the feature `model`, and is not part of the
//! public API.
//!
//! In production, the Lua scripts of a site's room decide about visitors, and only the
//! [`GlobalLedger`] and the [`Slots`] of a minute are the same code as in the models. The models
//! say in Rust what the scripts have to do:
//!
//! - [`SiteLedger`] is the account of a site under the escrow. The tests in `site/tests/account` give the
//!   same events to it and to the scripts, and compare the answers.
//! - [`SiteAdmission`] is one node under one of the policies of Cloudflare's article. Production
//!   has only the last policy, `Policy::Counters`.
//!
//! ```text
//!  WorldSnapshot ─► Slots ─► SiteAdmission ──arrive──► Admit or Queue
//!  (active, nodes,  (largest    ▲  │
//!   traffic by       remainder) │  └─Request─► TicketCounter of the site, then Anywhere's
//!   minute)                     └─on_reply─ CounterReply ─┘
//! ```
//!
//! | policy | a node may admit in a minute | too early | too many |
//! |---|---|---|---|
//! | [`Even`](SlotPolicy::Even) | the site's slots ÷ its nodes, and Anywhere's ÷ all nodes | yes | no |
//! | [`Curve`](SlotPolicy::Curve) | the same ÷ fewer nodes, while few visitors are active | seldom | **yes** |
//! | [`Counters`](SlotPolicy::Counters) | the slots drawn from two counters: the site's, then Anywhere's | hardly | no |
//! | the escrow | the slots that the site holds, each for as long as a visitor stays | no | **never** |
//!
//! The article calls the factor of `Curve` `workerMultiplier` ([`SlotPolicy::multiplier`]) and its exponent
//! `curveFactor`.
//!
//! "Too early" means that visitors are queued while slots are free; "too many" means that more
//! visitors are admitted than there are slots.
//!
//! "Too many" refers to one minute and the slots of one snapshot. Visitors admitted after a
//! snapshot was made are not counted in it, and slots are fixed for each minute. So the free slots
//! of one snapshot can be used in the current minute, and again in every minute that begins before
//! a newer snapshot takes effect. Every policy of the article may therefore admit up to (free
//! slots) × (minute boundaries within the age of the snapshot + 1) visitors, but no more than
//! `new_users_per_minute` in any minute. With a snapshot that is some seconds old the factor is
//! one, or two around the boundary of a minute.
//!
//! The escrow is a separate method, with ledgers in place of snapshots. It never queues a visitor
//! too early, as long as a round trip to the global ledger takes much less time than the bounded
//! wait. A site that is cut off has only the slots that it holds.
//!
//! # Example
//!
//! ```
//! use waiting_room_core::{Timestamp, VisitorId};
//! use waiting_room_ledger::{
//!     EscrowRules, SiteId,
//!     model::{Admission, GlobalLedger, Incarnation, SiteAction, SiteLedger, Term},
//! };
//!
//! let paris = SiteId::new(1);
//! let rules = EscrowRules::new();
//! let now = Timestamp::from_secs(1);
//! let mut global = GlobalLedger::new(200, [paris], Term::new(1), rules)?;
//! let mut site = SiteLedger::new(paris, Incarnation::new(7), rules, now)?;
//!
//! // A network without losses and delays.
//! let mut exchange = |site: &mut SiteLedger, mut actions: Vec<SiteAction>| {
//!     let mut admitted = Vec::new();
//!     while let Some(action) = actions.pop() {
//!         match action {
//!             SiteAction::Send(message) => {
//!                 for answer in global.receive(&message, now) {
//!                     actions.extend(site.receive(&answer.message, now));
//!                 }
//!             }
//!             SiteAction::Admit(pass) => admitted.push(pass),
//!             _ => {}
//!         }
//!     }
//!     admitted
//! };
//! let joins = site.tick(now);
//! exchange(&mut site, joins);
//!
//! // The site has no slot yet, so it borrows one.
//! let Admission::Borrow { request: Some(request), .. } = site.admit(VisitorId::new(1), now) else {
//!     panic!("nothing was granted yet");
//! };
//! let admitted = exchange(&mut site, vec![SiteAction::Send(request)]);
//! assert!(site.honours(&admitted[0], now));
//! # Ok::<(), waiting_room_core::ConfigError>(())
//! ```

mod admission;
mod budget;
mod policy;
mod site;

pub use self::{
    admission::{SiteAdmission, SlotDecision},
    policy::{NodeRules, Pacing, SlotPolicy},
    site::{Admission, Prolonged, SiteAction, SiteLedger},
};
#[cfg(feature = "postgres")]
pub use crate::keeper::{Corrections, Failover, PostgresKeeper};
pub use crate::{
    escrow::{
        Census, Changes, Death, Draw, Epoch, Fence, GlobalLedger, Grant, Heartbeat, Incarnation,
        Join, JoinRefused, Kept, KeptAccount, KeptClaim, LaterTerm, LineFront, ListRefused,
        MAX_COUNT, MAX_MESSAGE_LEN, MAX_WORLD_LEN, Outgoing, Refusal, Refused, RulesDigest,
        SitePass, SiteState, Standing, Tally, Term, TermOver, Tickets, ToGlobal, ToSite,
        WIRE_VERSION, Welcome, WireError, World,
    },
    holder::{FRESH, Holder, HolderHandle, HolderTimes, Order, OrderError, Role},
    keeper::{KeepError, KeeperFault, LedgerKeeper, MemoryKeeper, Seen, TakenOver},
    link::{LedgerLink, LinkOptions, LinkState, OperatorError, OperatorLink},
    server::{LedgerServer, ServerKeys},
    slots::{
        CounterReply, CounterRequest, Minute, Pool, SlotRules, Slots, TicketCounter, WorldSnapshot,
        apportion,
    },
};
