//! The escrow: one limit for many sites that is never exceeded, whatever the network does.
//!
//! A central counter would be exact and slow: every new visitor of every site would have to ask it.
//! Here the limit is put in escrow instead (P. O'Neil, *The Escrow Transactional Method*, 1986): the
//! [`GlobalLedger`] hands out parts of it, and each [`SiteLedger`] admits out of its own part without
//! asking anybody.
//!
//! ```text
//!                        GlobalLedger: limit, and what each site holds
//!                  Heartbeat, Join, Claim ▲ │ Grant, Welcome, Stale, Report
//!                                         │ ▼
//!  admit ──► SiteLedger: allowance = granted - returned ──► Admit(SitePass)
//!                 │ unused = allowance - used                   until it expires
//!                 └─ none unused: Borrow, for a moment ──► Admit, or the queue
//! ```
//!
//! Far from the limit each site has a reserve, split by the demand, and no visitor waits for the
//! network. Near the limit the reserves shrink to nothing and every admission asks the global
//! ledger: then it is one central counter, and nobody is queued while a slot is free anywhere, as
//! long as the sites reach it well within the [bounded wait](EscrowRules::borrow_wait): a slot that
//! another site has in reserve takes two round trips. A site that is cut off has only what it holds,
//! and queues when that is in use, whatever is free elsewhere.
//!
//! # Words
//!
//! | word | means |
//! |---|---|
//! | allowance | slots that a site may use: all ever granted less all ever given back |
//! | reserve | how many of them it may keep unused |
//! | borrow | to ask for a slot for a visitor who waits at this moment |
//! | recall | to ask for all back that is not in use, because somebody waits elsewhere |
//! | lease | the time in which a site may use its allowance (C. Gray and D. Cheriton, 1989) |
//! | epoch | one account of one site; what is said of an old one has no effect |
//! | term | one life of the global ledger |
//! | incarnation | one life of a site's ledger |
//! | home | the site that has a visitor on its account |
//! | claim | to move the slot of a visitor away from a home that is dead |
//! | fence | to say that a site is switched off |
//!
//! # Why never too many are active
//!
//! 1. *All sites together hold no more than the limit.* Only free slots are granted
//!    (`GlobalLedger::serve` and `top_up`), and a site is never believed to hold less than it does:
//!    grants are counted before they are sent; what goes back is counted after the site has stopped
//!    using it (`SiteLedger::surplus`); counts only grow, and the greater one is true
//!    (`Allowance`; V. Balegas et al., *Bounded Counter CRDTs*, 2015). So a message that is lost,
//!    doubled or late is harmless.
//! 2. *A site has no more visitors on its account than it may have.* `SiteLedger::admit` needs a
//!    lease and a slot that nobody uses, or that is held for this visitor; and a session stays until
//!    its last pass is void, even if the visitor has left.
//! 3. *Every valid pass has a slot.* A pass ends at most a session after the lease of its home, by
//!    the clock of its home, and the slots of a dead site are not free before (`Member::is_spent`).
//!    A lease runs from when the site *sent* its message, so it ends at the site before it ends in the
//!    global ledger, and no two clocks have to agree; they may only drift apart by a margin.
//!
//! # When something is lost
//!
//! - *A site is cut off*: it goes on until its lease ends, then admits nobody and prolongs nothing;
//!   its passes are honoured until they end. If it is back before its slots are taken back, it
//!   resumes; otherwise it [joins](Join) anew, with nothing.
//! - *A site loses its ledger*: the new [`Incarnation`] inherits the allowance and takes all of it
//!   for in use until every old pass is void, or has shown up.
//! - *The global ledger is lost*: a [new one](GlobalLedger::recover) of a higher [`Term`] grants
//!   nothing until every site has reported to it, or until all that was ever granted is over.
//! - *Visitors of a dead site* are honoured elsewhere until their passes end. To prolong one, another
//!   site takes the visitor on its account and [claims](ToGlobal::Claim) the slot. It does so after
//!   it was told of the [`Death`], so that the old home makes no more passes for that visitor. The
//!   first claim closes the dead site's account.
//!
//! # A limit of new visitors
//!
//! The same ledgers hold `N` slots for [a minute each](EscrowRules::rolling_minute), never prolonged:
//! then no more than `N` are let in within any sixty seconds, in the world. A site that keeps both
//! limits asks one ledger and then the other, [by the same deadline](SiteLedger::admit_by), and
//! [withdraws](SiteLedger::withdraw) from the first what the second refuses.
//!
//! # What it does not do
//!
//! It opens no connection and reads no clock. It does not order visitors: the line is somebody
//! else's, and the order is theirs in which [`admit`](SiteLedger::admit) is called. It assumes that
//! an earlier ledger has stopped when one is made in its place, and that a pass from elsewhere is
//! honoured by a bound of its home's clock.
//!
//! # Example
//!
//! ```
//! use waiting_room_core::{Timestamp, VisitorId};
//! use waiting_room_sites::SiteId;
//! use waiting_room_sites::escrow::{ Admission, EscrowRules, GlobalLedger, Incarnation, SiteAction, SiteLedger, Term, };
//!
//! let (paris, rules, now) = (SiteId::new(1), EscrowRules::new(), Timestamp::from_secs(1));
//! let mut global = GlobalLedger::new(200, [paris], Term::new(1), rules)?;
//! let mut site = SiteLedger::new(paris, Incarnation::new(7), rules, now)?;
//!
//! // A network on which nothing is lost and that takes no time.
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
//! let Admission::Borrow { ask: Some(ask), .. } = site.admit(VisitorId::new(1), now) else {
//!     panic!("nothing was granted yet");
//! };
//! let admitted = exchange(&mut site, vec![SiteAction::Send(ask)]);
//! assert!(site.honours(&admitted[0], now));
//! # Ok::<(), waiting_room_core::ConfigError>(())
//! ```

mod answer;
mod demand;
mod epoch;
mod global;
mod member;
mod message;
mod rules;
mod sessions;
mod site;

pub use self::{
    answer::{Admission, Prolonged, SiteAction},
    epoch::{Epoch, Incarnation, Term},
    global::GlobalLedger,
    message::{Death, Grant, Heartbeat, Join, Outgoing, SitePass, ToGlobal, ToSite, Welcome},
    rules::EscrowRules,
    site::SiteLedger,
};

#[cfg(test)]
mod tests;
