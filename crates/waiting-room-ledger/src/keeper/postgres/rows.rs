//! Accounts and claims as rows, and as columns of a batch.

use std::collections::{BTreeMap, BTreeSet};

use tokio_postgres::Row;
use waiting_room_core::{Timestamp, VisitorId};

use crate::{
    SiteId,
    escrow::{
        Epoch, EscrowRules, Fence, Incarnation, Kept, KeptAccount, KeptClaim, Standing, Term,
    },
    keeper::KeepError,
};

/// The accounts of a batch, column by column.
#[derive(Debug, Default)]
pub(super) struct AccountColumns {
    pub(super) site: Vec<i32>,
    pub(super) epoch_term: Vec<i64>,
    pub(super) epoch_count: Vec<i64>,
    pub(super) standing: Vec<i16>,
    pub(super) incarnation: Vec<Option<i64>>,
    pub(super) granted: Vec<i64>,
    pub(super) returned: Vec<i64>,
    pub(super) heard: Vec<Option<i64>>,
    pub(super) is_drained: Vec<bool>,
    pub(super) fence_term: Vec<Option<i64>>,
    pub(super) fence_count: Vec<Option<i64>>,
    pub(super) fence_incarnation: Vec<Option<i64>>,
}

/// The claims of a batch, column by column.
#[derive(Debug, Default)]
pub(super) struct ClaimColumns {
    pub(super) site: Vec<i32>,
    pub(super) epoch_term: Vec<i64>,
    pub(super) epoch_count: Vec<i64>,
    pub(super) visitor: Vec<Vec<u8>>,
}

impl AccountColumns {
    pub(super) fn of(accounts: &BTreeMap<SiteId, KeptAccount>) -> Self {
        let mut columns = Self::default();
        for (site, account) in accounts {
            columns.site.push(site.number().into());
            columns.epoch_term.push(account.epoch.term().number().into());
            columns.epoch_count.push(account.epoch.count().into());
            columns.standing.push(standing_number(account.standing));
            columns.incarnation.push(account.incarnation.map(signed));
            columns.granted.push(account.granted.cast_signed());
            columns.returned.push(account.returned.cast_signed());
            columns.heard.push(account.heard.map(|heard| heard.as_nanos().cast_signed()));
            columns.is_drained.push(account.is_drained);
            let fence = account.fence;
            columns.fence_term.push(fence.map(|fence| fence.epoch.term().number().into()));
            columns.fence_count.push(fence.map(|fence| fence.epoch.count().into()));
            let fenced = fence.and_then(|fence| fence.incarnation);
            columns.fence_incarnation.push(fenced.map(signed));
        }
        columns
    }
}

impl ClaimColumns {
    pub(super) fn of(claims: &BTreeSet<KeptClaim>) -> Self {
        let mut columns = Self::default();
        for claim in claims {
            columns.site.push(claim.site.number().into());
            columns.epoch_term.push(claim.epoch.term().number().into());
            columns.epoch_count.push(claim.epoch.count().into());
            columns.visitor.push(claim.visitor.bits().to_be_bytes().to_vec());
        }
        columns
    }
}

/// Reads the term of a room.
pub(super) fn kept_term(row: &Row) -> Result<Term, KeepError> {
    let term: i64 = row.get("term");
    u32::try_from(term).map(Term::new).map_err(|_| unfit("term", term))
}

/// Reads the limit and the rules of a room, for a ledger of this term.
pub(super) fn kept_room(row: &Row, term: Term) -> Result<Kept, KeepError> {
    let limit: i64 = row.get("limit_slots");
    let limit = u32::try_from(limit).map_err(|_| unfit("limit", limit))?;
    let time = |field: &str| {
        Timestamp::from_nanos(row.get::<_, i64>(field).cast_unsigned()).since(Timestamp::ZERO)
    };
    let rules = EscrowRules::new()
        .session(time("session_ns"))
        .lease(time("lease_ns"))
        .drift_margin(time("drift_margin_ns"))
        .heartbeat(time("heartbeat_ns"))
        .borrow_wait(time("borrow_wait_ns"));
    Ok(Kept::new(term, limit, rules))
}

/// Reads the account of a site.
pub(super) fn kept_account(row: &Row) -> Result<(SiteId, KeptAccount), KeepError> {
    let site = site(row)?;
    let number: i16 = row.get("standing");
    let standing = STANDINGS
        .into_iter()
        .find(|standing| standing_number(*standing) == number)
        .ok_or_else(|| unfit("standing", number.into()))?;
    let mut account = KeptAccount::new(epoch(row, "epoch_term", "epoch_count")?, standing);
    account.incarnation = incarnation(row, "incarnation");
    account.granted = row.get::<_, i64>("granted").cast_unsigned();
    account.returned = row.get::<_, i64>("returned").cast_unsigned();
    let heard: Option<i64> = row.get("heard_ns");
    account.heard = heard.map(|heard| Timestamp::from_nanos(heard.cast_unsigned()));
    account.is_drained = row.get("is_drained");
    if row.get::<_, Option<i64>>("fence_term").is_some() {
        let epoch = epoch(row, "fence_term", "fence_count")?;
        account.fence = Some(Fence::new(epoch, incarnation(row, "fence_incarnation")));
    }
    Ok((site, account))
}

/// Reads a claim.
pub(super) fn kept_claim(row: &Row) -> Result<KeptClaim, KeepError> {
    let visitor: &[u8] = row.get("visitor");
    let bits = visitor.try_into().map(u128::from_be_bytes).map_err(|_| KeepError::Unfit {
        setting: format!("visitor has {} bytes, expected 16", visitor.len()),
    })?;
    let epoch = epoch(row, "epoch_term", "epoch_count")?;
    Ok(KeptClaim::new(site(row)?, epoch, VisitorId::new(bits)))
}

fn site(row: &Row) -> Result<SiteId, KeepError> {
    let number: i32 = row.get("site");
    u16::try_from(number).map(SiteId::new).map_err(|_| unfit("site", number.into()))
}

fn epoch(row: &Row, term: &'static str, count: &'static str) -> Result<Epoch, KeepError> {
    let number = |field: &'static str| {
        let number: i64 = row.get::<_, Option<i64>>(field).unwrap_or_default();
        u32::try_from(number).map_err(|_| unfit(field, number))
    };
    Ok(Epoch::new(Term::new(number(term)?), number(count)?))
}

fn incarnation(row: &Row, field: &str) -> Option<Incarnation> {
    let bits: Option<i64> = row.get(field);
    bits.map(|bits| Incarnation::new(bits.cast_unsigned()))
}

const fn signed(incarnation: Incarnation) -> i64 {
    incarnation.bits().cast_signed()
}

/// The number of a standing, which never changes its meaning.
const fn standing_number(standing: Standing) -> i16 {
    match standing {
        Standing::Away => 0,
        Standing::Open => 1,
        Standing::Closed => 2,
        Standing::Unknown => 3,
    }
}

const STANDINGS: [Standing; 4] =
    [Standing::Away, Standing::Open, Standing::Closed, Standing::Unknown];

/// A row that no ledger has written.
fn unfit(field: &'static str, given: i64) -> KeepError {
    KeepError::Unfit { setting: format!("{field} is {given} in the database") }
}
