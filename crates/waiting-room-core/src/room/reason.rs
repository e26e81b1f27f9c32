//! The stable text of a reason, as it appears in logs, metrics, headers and answers.

use std::fmt;

use super::Reason;

impl Reason {
    /// Returns the stable text of a reason without a name, such as `queued:active_limit`. Returns
    /// `None` for a reason that contains the name of a rule or a limit; its
    /// [`Display`](fmt::Display) form includes that name.
    #[must_use]
    pub const fn constant(&self) -> Option<&'static str> {
        Some(match self {
            Self::Bypass(_) | Self::RefusedKeyMissing(_) | Self::RefusedRate(_) => return None,
            Self::AdmittedActive => "admitted:active",
            Self::AdmittedLimits => "admitted:limits",
            Self::AdmittedLocalShare => "admitted:local_share",
            Self::AdmittedMoved => "admitted:moved",
            Self::AdmittedPass => "admitted:pass",
            Self::AdmittedPassthrough => "admitted:passthrough",
            Self::AdmittedSlot => "admitted:slot",
            Self::AdmittedUnlimited => "admitted:unlimited",
            Self::Left => "left",
            Self::Prequeue => "prequeue",
            Self::QueueAll => "queue_all",
            Self::QueuedActiveLimit => "queued:active_limit",
            Self::QueuedBehindOthers => "queued:behind_others",
            Self::QueuedCookieTest => "queued:cookie_test",
            Self::QueuedEarly => "queued:early",
            Self::QueuedNetworkFull => "queued:network_full",
            Self::QueuedRate => "queued:rate",
            Self::QueuedRecovery => "queued:recovery",
            Self::QueuedStoreBusy => "queued:store_busy",
            Self::QueuedTurn => "queued:turn",
            Self::RefusedAddressUnknown => "refused:address_unknown",
            Self::RefusedAmbiguousRoute => "refused:ambiguous_route",
            Self::RefusedChallenged => "refused:challenged",
            Self::RefusedCrawler => "refused:crawler",
            Self::RefusedDraining => "refused:draining",
            Self::RefusedGateCancelled => "refused:gate_cancelled",
            Self::RefusedGateDrained => "refused:gate_drained",
            Self::RefusedGateFull => "refused:gate_full",
            Self::RefusedGateShed => "refused:gate_shed",
            Self::RefusedGateTimeout => "refused:gate_timeout",
            Self::RefusedGateUnknown => "refused:gate_unknown",
            Self::RefusedLimitsBusy => "refused:limits_busy",
            Self::RefusedLimitsUnavailable => "refused:limits_unavailable",
            Self::RefusedLineFull => "refused:line_full",
            Self::RefusedNetworkFull => "refused:network_full",
            Self::RefusedNotAVisit => "refused:not_a_visit",
            Self::RefusedPushEnded => "refused:push_ended",
            Self::RefusedPushFull => "refused:push_full",
            Self::RefusedPushInvalid => "refused:push_invalid",
            Self::RefusedPushNetworkFull => "refused:push_network_full",
            Self::RefusedReject => "refused:reject",
            Self::RefusedTooOften => "refused:too_often",
            Self::RefusedTransferInvalid => "refused:transfer_invalid",
            Self::StoreUnavailable => "store_unavailable",
            Self::Transferred => "transferred",
        })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.constant().unwrap_or_default())?;
        if let Self::Bypass(rule) = self {
            write!(f, "bypass:{rule}")?;
        } else if let Self::RefusedKeyMissing(policy) = self {
            write!(f, "refused:key_missing:{policy}")?;
        } else if let Self::RefusedRate(policy) = self {
            write!(f, "refused:rate:{policy}")?;
        }
        Ok(())
    }
}
