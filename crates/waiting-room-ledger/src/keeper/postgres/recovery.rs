//! The recovery of a room whose database has lost changes, with the corrections of an operator.

use std::collections::BTreeSet;

use crate::{
    SiteId,
    escrow::{Epoch, Fence, Kept, KeptAccount, Standing, Term},
    keeper::{
        KeepError, PostgresKeeper,
        postgres::{
            rows::{AccountColumns, kept_room, kept_term},
            sql,
        },
    },
};

/// The changes that a database has lost and that the next ledger needs to know: changes to the list
/// of sites, the fences and the limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Corrections {
    pub(super) sites: BTreeSet<SiteId>,
    pub(super) fences: BTreeSet<SiteId>,
    pub(super) limit: Option<u32>,
    pub(super) first_term: Option<Term>,
}

impl Corrections {
    /// Creates corrections that change nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a site on the list, or ends its draining. The next ledger waits for all sites.
    #[must_use]
    pub fn add_site(mut self, site: SiteId) -> Self {
        self.sites.insert(site);
        self
    }

    /// Fences every account that a site has had.
    #[must_use]
    pub fn fence(mut self, site: SiteId) -> Self {
        self.fences.insert(site);
        self
    }

    /// Sets the limit.
    #[must_use]
    pub const fn limit(mut self, limit: u32) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Sets the lowest term of the next ledger, which has to be above all terms that sites know. By
    /// default, it is 1 025 or more above the kept term.
    #[must_use]
    pub const fn first_term(mut self, term: Term) -> Self {
        self.first_term = Some(term);
        self
    }
}

impl PostgresKeeper {
    /// Declares that what is kept may be older than what was acknowledged: the next ledger recovers
    /// the room. The ledger that holds the room at present is fenced.
    ///
    /// The list of sites, their fences and the limit are still used, so losses in them are
    /// corrected in the same transaction. The slots of a site that is missing from the
    /// list would be granted to others. The term is raised by 1 024, to be above the terms that are
    /// lost. Returns the state that is kept after this change.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if the room is not set up, if a site to be fenced is not
    /// on the list, or if the server cannot be used.
    pub async fn recover(&mut self, corrections: &Corrections) -> Result<Kept, KeepError> {
        let result = self.try_recover(corrections).await;
        self.forget_on_error(result)
    }

    async fn try_recover(&mut self, corrections: &Corrections) -> Result<Kept, KeepError> {
        let room = self.room.clone();
        let session = self.session().await?;
        let lineage = session.lineage.to_string();
        let transaction = session.client.transaction().await.map_err(KeepError::unavailable)?;
        let limit = corrections.limit.map(i64::from);
        // The next take-over raises the term by one.
        let above = corrections.first_term.map_or(0, |term| i64::from(term.number()) - 1);
        let row = transaction
            .query_opt(sql::RECOVER, &[&room, &lineage, &limit, &TERMS_LOST, &above, &BATCHES_LOST])
            .await
            .map_err(KeepError::unavailable)?;
        let row = row.ok_or_else(|| KeepError::NoRoom { room: room.clone() })?;
        let kept = kept_room(&row, kept_term(&row)?)?;
        let added = corrections
            .sites
            .iter()
            .map(|site| (*site, KeptAccount::new(Epoch::default(), Standing::Away)));
        let added = AccountColumns::of(&added.collect());
        transaction
            .execute(
                sql::INSERT_SITES,
                &[&room, &added.site, &added.epoch_term, &added.epoch_count],
            )
            .await
            .map_err(KeepError::unavailable)?;
        let fenced: Vec<_> =
            corrections.fences.iter().map(|site| i32::from(site.number())).collect();
        let epoch = Fence::of_all_accounts().epoch;
        let term = i64::from(epoch.term().number());
        let count = i64::from(epoch.count());
        transaction
            .execute(sql::FENCE, &[&room, &fenced, &term, &count])
            .await
            .map_err(KeepError::unavailable)?;
        let kept = Self::read(&transaction, &room, kept).await?;
        if let Some(missing) =
            corrections.fences.iter().find(|site| !kept.accounts.contains_key(site))
        {
            let setting = format!("fence is {}, expected a site on the list", missing.number());
            return Err(KeepError::Unfit { setting });
        }
        transaction.commit().await.map_err(KeepError::unavailable)?;
        Ok(kept)
    }
}

/// The number of take-overs that may be lost with a database. A recovery raises the term by this
/// number, because sites do not obey a term that is lower than the last term they know.
const TERMS_LOST: i64 = 1024;
/// An upper bound on the number of batches that are lost with a database.
const BATCHES_LOST: i64 = 1 << 32;
