//! The fields of `cfWaitingRoom` by name, for page templates.

use std::borrow::Cow;

use waiting_room_core::Timestamp;

use super::{CfWaitingRoom, Iso};

/// The value of a variable.
pub(in crate::respond) enum Variable<'a> {
    Number(u64),
    Text(&'a str),
    Time(&'a Iso),
    Truth(bool),
}

impl CfWaitingRoom {
    /// Returns the variable of this name, or `None` if the name is unknown. If this crate has no
    /// value for a Cloudflare variable, the variable has the value of an unused feature.
    pub(in crate::respond) fn variable(&self, name: &str) -> Option<Variable<'_>> {
        Some(match name {
            "infiniteQueue" => Variable::Truth(self.infinite_queue),
            "inWaitingRoom" => Variable::Truth(self.in_waiting_room),
            "isEventActive" => Variable::Truth(self.is_event_active),
            "isEventPrequeueing" => Variable::Truth(self.is_event_prequeueing),
            "isFIFOQueue" => Variable::Truth(self.is_fifo_queue),
            "isPassthroughQueue" => Variable::Truth(self.is_passthrough_queue),
            "isRandomQueue" => Variable::Truth(self.is_random_queue),
            "isRejectQueue" => Variable::Truth(self.is_reject_queue),
            "lastUpdated" => Variable::Time(&self.last_updated),
            "queueAll" => Variable::Truth(self.queue_all),
            "queueIsFull" => Variable::Truth(self.queue_is_full),
            "queueingMethod" => Variable::Text(self.queueing_method),
            "refreshIntervalSeconds" => Variable::Number(self.refresh_interval_seconds),
            "shuffleAtEventStart" => Variable::Truth(self.shuffle_at_event_start),
            "timeUntilEventEnd" => Variable::Number(self.time_until_event_end),
            "timeUntilEventEndFormatted" => Variable::Text(&self.time_until_event_end_formatted),
            "timeUntilEventStart" => Variable::Number(self.time_until_event_start),
            "timeUntilEventStartFormatted" => {
                Variable::Text(&self.time_until_event_start_formatted)
            }
            "turnstile" => Variable::Text(self.turnstile),
            "waitTime" => Variable::Number(self.wait_time),
            "waitTime25Percentile" => Variable::Number(self.wait_time25_percentile),
            "waitTime50Percentile" => Variable::Number(self.wait_time50_percentile),
            "waitTime75Percentile" => Variable::Number(self.wait_time75_percentile),
            "waitTimeFormatted" => Variable::Text(&self.wait_time_formatted),
            "waitTimeHourMinutes" => Variable::Number(self.minutes_over()),
            "waitTimeHours" => Variable::Number(self.hours()),
            "waitTimeKnown" => Variable::Truth(self.wait_time_known),
            _ => return None,
        })
    }
}

impl Variable<'_> {
    /// Returns whether a section with this value is rendered. The rule is that of `mustache.js`,
    /// for which 0 and an empty text are false.
    pub(in crate::respond) const fn is_truthy(&self) -> bool {
        match self {
            Self::Number(number) => *number != 0,
            Self::Text(text) => !text.is_empty(),
            Self::Time(_) => true,
            Self::Truth(truth) => *truth,
        }
    }

    /// Returns the value as text.
    pub(in crate::respond) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Number(number) => Cow::Owned(itoa::Buffer::new().format(*number).to_owned()),
            Self::Text(text) => Cow::Borrowed(text),
            Self::Time(time) => {
                Cow::Owned(time.0.write_iso(&mut [0; Timestamp::ISO_LEN]).to_owned())
            }
            Self::Truth(true) => Cow::Borrowed("true"),
            Self::Truth(false) => Cow::Borrowed("false"),
        }
    }
}
