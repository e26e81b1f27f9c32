//! The escrow: one limit for several sites that is never exceeded, whatever the network does.
//!
//! A central counter would be exact, but slow: each new visitor at each site would cost a round
//! trip. Here the limit is put in escrow instead (P. O'Neil, *The Escrow Transactional
//! Method*, 1986). The [`GlobalLedger`] hands out parts of the limit, and each `SiteLedger`
//! admits visitors from its own part without a round trip.
//!
//! ```text
//!                        GlobalLedger: limit, and slots held by each site
//!                  Heartbeat, Join, Claim ▲ │ Grant, Welcome, Stale, Report
//!                                         │ ▼
//!  admit ──► SiteLedger: allowance = granted - returned ──► Admit(SitePass)
//!                 │ unused = allowance - used                   until it expires
//!                 └─ none unused: Borrow, for a moment ──► Admit, or the queue
//! ```
//!
//! Far from the limit each site has a reserve, which follows its demand, and no visitor waits for
//! the network. Near the limit the reserves shrink to nothing, and every admission asks the global
//! ledger, which then acts as a central counter. No visitor is queued while a slot is free
//! anywhere, as long as the sites reach the global ledger well within the [bounded
//! wait](EscrowRules::borrow_wait); a slot in the reserve of another site takes two round trips. A
//! site that is cut off has only the slots that it holds, and queues visitors when these are in
//! use, even if slots are free elsewhere.
//!
//! # Words
//!
//! | word | means |
//! |---|---|
//! | allowance | the slots that a site may use: all ever granted minus all ever given back |
//! | reserve | the part of the allowance that a site may keep unused |
//! | borrow | to ask for a slot for a visitor that is waiting at this moment |
//! | recall | to ask for all unused slots back, because a visitor waits at another site |
//! | lease | the time in which a site may use its allowance (C. Gray and D. Cheriton, 1989) |
//! | epoch | one account of one site; messages about an earlier epoch have no effect |
//! | term | one life of the global ledger |
//! | incarnation | one life of a site's ledger |
//! | home | the site that has a visitor on its account |
//! | claim | to move the slot of a visitor away from a home that is dead |
//! | fence | to declare that a site is off: its account ends, and its incarnation gets no other
//! account |
//! | drain | to prepare the removal of a site, which is granted no more slots |
//! | keeper | the store, such as a database, that keeps the accounts of the global ledger |
//!
//! # Why the limit is never exceeded
//!
//! 1. *All sites together hold no more than the limit.* Only free slots are granted
//!    (`GlobalLedger::serve` and `top_up`), and the global ledger never counts fewer slots for a
//!    site than the site holds. Grants are counted before they are sent. Returns are counted after
//!    the site has stopped using the slots (`SiteLedger::surplus`). All counts only grow, so the
//!    greater of two values is right (`Allowance`; V. Balegas et al., *Bounded Counter CRDTs*,
//!    2015). So a message that is lost, duplicated or late does no harm.
//! 2. *A site has no more visitors on its account than its allowance.* `SiteLedger::admit` requires
//!    a lease, and a slot that is unused or held for this visitor. A session stays on the account
//!    until its last pass is void, even if the visitor has left.
//! 3. *Every valid pass has a slot.* By the clock of its home, a pass ends at most one session
//!    after the lease of that home. The slots of a dead site are not free before that
//!    (`Member::is_spent`). A lease runs from the time at which the site *sent* its message, so it
//!    ends at the site before it ends in the global ledger. The clocks need not agree, but they may
//!    drift apart only by a margin.
//!
//! All of this holds under four conditions. When a replacement is created, the earlier ledger has
//! stopped, or its keeper has fenced it ([`Kept::take_over`]). No answer is sent before all earlier
//! [changes](GlobalLedger::changes) are stored, and the keeper loses none of them. No clock runs
//! backwards, and no two drift apart by more than the [margin](EscrowRules::drift_margin). A fenced
//! site is off.
//!
//! # Failures
//!
//! - *A site is cut off*: it continues until its lease ends. Then it admits no visitors and extends
//!   no sessions, but its passes are honoured until they expire. If it returns before its slots are
//!   reclaimed, it resumes; otherwise it [joins](Join) again, without slots.
//! - *A site loses its ledger*: the new [`Incarnation`] inherits the allowance, and counts the
//!   whole allowance as in use until every old pass is void or has been presented.
//! - *A site is switched off*: when it is switched on again, it begins a new life, even if its
//!   ledger has survived. An operator may have [fenced](GlobalLedger::fence) it meanwhile. A
//!   virtual machine that is paused is not off, because it continues with its ledger.
//! - *The global ledger is lost*: if a keeper has stored its [changes](GlobalLedger::changes), a
//!   [new one](GlobalLedger::restore) [takes over](Kept::take_over) with a higher [`Term`], and
//!   continues at once. If not, a
//!   [new one](GlobalLedger::recover) grants nothing until every site has reported to it, or until
//!   everything ever granted has expired.
//! - *A site has other rules*, is not on the list of sites, or was fenced: it gets no account, and
//!   its operator is [told the reason](JoinRefused).
//! - *Visitors of a dead site* are honoured at other sites until their passes expire. To extend the
//!   session of such a visitor, another site takes the visitor on its account and
//!   [claims](ToGlobal::Claim) the slot. The site does so only after it has been informed of the
//!   [`Death`], so that the old home makes no more passes for that visitor. The first claim closes
//!   the account of the dead site.
//!
//! # A limit on new visitors
//!
//! The same ledgers can keep a limit on new visitors. `N` slots that are held for [a little more
//! than a minute](EscrowRules::rolling_minute) and are never extended allow no more than `N`
//! admissions worldwide in any sixty seconds. The condition is that no clock is fast by more than
//! one part in 256, and no two clocks drift apart by more than the [drift
//! margin](EscrowRules::drift_margin) during a lease and a session. A site that keeps both limits
//! asks one ledger and then the other, with the same deadline. If the second ledger refuses, the
//! site withdraws the admission from the first.
//!
//! # What it does not do
//!
//! It opens no connection, reads no clock and stores nothing: a caller stores all
//! [changes](GlobalLedger::changes) so far before it sends an answer. It does not order visitors:
//! that is the task of a line, and slots are assigned in the order in which `admit` is called. It
//! assumes that an earlier ledger has stopped when its replacement is created, and that a pass from
//! another site is checked against the latest time that the clock of its home can show.

mod census;
pub(crate) mod epoch;
mod front;
mod global;
mod kept;
mod member;
mod message;
mod need;
mod refusal;
mod rules;
mod tally;
mod wire;

pub use self::{
    census::Census,
    epoch::{Epoch, Incarnation, Term},
    front::LineFront,
    global::{GlobalLedger, LaterTerm, SiteState},
    kept::{Changes, Fence, Kept, KeptAccount, KeptClaim, Standing, TermOver},
    message::{Death, Grant, Heartbeat, Join, Outgoing, SitePass, ToGlobal, ToSite, Welcome},
    refusal::{JoinRefused, ListRefused, Refusal, Refused},
    rules::{EscrowRules, RulesDigest},
    tally::{Draw, Tally, Tickets, World},
    wire::{MAX_COUNT, MAX_MESSAGE_LEN, MAX_WORLD_LEN, WIRE_VERSION, WireError},
};

#[cfg(test)]
mod tests;
