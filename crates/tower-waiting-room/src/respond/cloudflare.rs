//! The answer in the format of Cloudflare Waiting Room, for clients that were written for that
//! product.
//!
//! The object `cfWaitingRoom` has the 25 fields of Cloudflare's JSON response
//! (`json_response_enabled` in its API), and templates get variables with the same names. Clients
//! therefore need no change when a service moves to this crate. The fields of features that this
//! crate lacks (Turnstile, the infinite queue) have the values that Cloudflare sends when the features
//! are off.
//!
//! The numbers are coarser than those in this crate's own object: waits are in whole minutes, and
//! unless the order is random, there is only one value for the wait.

mod variables;

use std::borrow::Cow;

use waiting_room_core::{Timestamp, room::QueueingMethod};

pub(super) use self::variables::Variable;
use super::{Answer, answer::whole_minutes, iso::Iso};
use crate::rate_headers::whole_seconds;

/// The fields of `cfWaitingRoom`, in the order of Cloudflare's documentation.
///
/// Times are in whole minutes, rounded up, unless the name of the field states another unit.
#[cfg_attr(test, derive(serde::Serialize), serde(rename_all = "camelCase"))]
pub(super) struct CfWaitingRoom {
    /// Whether the visitor is waiting. Always true, because an admitted visitor does not get this
    /// object.
    in_waiting_room: bool,
    /// Whether the fields for the expected wait are valid.
    wait_time_known: bool,
    /// The median wait, or 0 if it is unknown.
    wait_time: u64,
    /// The 25th percentile of the wait. All percentiles are 0 unless the order is random and the
    /// wait is known.
    wait_time25_percentile: u64,
    /// The 50th percentile of the wait.
    wait_time50_percentile: u64,
    /// The 75th percentile of the wait.
    wait_time75_percentile: u64,
    /// The wait in English words, as a range if the order is random, or `unavailable`.
    wait_time_formatted: Cow<'static, str>,
    /// Whether all places in the line are taken.
    queue_is_full: bool,
    /// Whether the operator has stopped admissions.
    queue_all: bool,
    /// The time of the visitor's last request that was not too early.
    last_updated: Iso,
    /// The time from `last_updated` until a retry can succeed, or 0 if no retry can succeed.
    refresh_interval_seconds: u64,
    /// The order of admission: `fifo`, `random`, `passthrough` or `reject`. The next four fields
    /// repeat it for templates, because Cloudflare's template language (Mustache) cannot compare
    /// strings.
    queueing_method: &'static str,
    #[cfg_attr(test, serde(rename = "isFIFOQueue"))]
    is_fifo_queue: bool,
    is_random_queue: bool,
    is_passthrough_queue: bool,
    is_reject_queue: bool,
    /// Whether an event is in progress, including its prequeue.
    is_event_active: bool,
    /// Whether visitors are waiting for an event that has not started.
    is_event_prequeueing: bool,
    /// The time until the event starts, or 0 once it has started.
    time_until_event_start: u64,
    /// The time until the event starts in English words, or `unavailable`.
    time_until_event_start_formatted: Cow<'static, str>,
    /// The time until the event ends, or 0 without an event.
    time_until_event_end: u64,
    /// The time until the event ends in English words, or `unavailable`.
    time_until_event_end_formatted: Cow<'static, str>,
    /// Whether the line is shuffled when the event starts.
    shuffle_at_event_start: bool,
    /// The HTML of a Turnstile widget. Always empty.
    turnstile: &'static str,
    /// Whether the visitor was put into a queue from which no visitor is ever admitted. Always
    /// false.
    infinite_queue: bool,
}

impl CfWaitingRoom {
    /// Computes the fields for an answer.
    pub(super) fn new(answer: &Answer) -> Self {
        let method = answer.method;
        let minutes = answer.wait.map(|wait| [wait.p25, wait.p50, wait.p75].map(whole_minutes));
        let [p25, p50, p75] = minutes.unwrap_or_default();
        let event = answer.event.as_deref();
        let starts_in = event
            .filter(|event| event.is_prequeue)
            .map_or(0, |event| whole_minutes(event.starts_in));
        let ends_in = event.map_or(0, |event| whole_minutes(event.ends_in));
        // Cloudflare defines the percentiles only for a random order. In any other order, there is
        // only one value for the wait.
        let spread = if method == QueueingMethod::Random { [p25, p50, p75] } else { [0; 3] };
        Self {
            in_waiting_room: true,
            wait_time_known: minutes.is_some(),
            wait_time: p50,
            wait_time25_percentile: spread[0],
            wait_time50_percentile: spread[1],
            wait_time75_percentile: spread[2],
            wait_time_formatted: match (minutes, method) {
                (None, _) => Cow::Borrowed(UNAVAILABLE),
                (Some(_), QueueingMethod::Random) => {
                    Cow::Owned([&said(p25), " to ", &said(p75)].concat())
                }
                (Some(_), _) => Cow::Owned(said(p50)),
            },
            queue_is_full: answer.is_line_full(),
            queue_all: answer.is_queue_all,
            last_updated: Iso(answer.last_check_in.unwrap_or(answer.now)),
            refresh_interval_seconds: refresh_interval(answer),
            queueing_method: name(method),
            is_fifo_queue: method == QueueingMethod::Fifo,
            is_random_queue: method == QueueingMethod::Random,
            is_passthrough_queue: method == QueueingMethod::Passthrough,
            is_reject_queue: method == QueueingMethod::Reject,
            is_event_active: event.is_some(),
            is_event_prequeueing: starts_in > 0,
            time_until_event_start: starts_in,
            time_until_event_start_formatted: until(starts_in),
            time_until_event_end: ends_in,
            time_until_event_end_formatted: until(ends_in),
            shuffle_at_event_start: event.is_some_and(|event| event.is_shuffled),
            turnstile: "",
            infinite_queue: false,
        }
    }

    /// Writes the object as JSON, with the same result as serde in a quarter of the time.
    ///
    /// A waiting crowd requests this object every few seconds, and most of the object is the same
    /// in every answer. A test compares the result with the output of serde, so the two cannot
    /// diverge.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        // No string needs escaping, because all strings come from this file or are times.
        let mut number = itoa::Buffer::new();
        let mut time = [0; Timestamp::ISO_LEN];
        field(out, "{\"inWaitingRoom\":true,\"waitTimeKnown\":", truth(self.wait_time_known));
        field(out, ",\"waitTime\":", number.format(self.wait_time));
        field(out, ",\"waitTime25Percentile\":", number.format(self.wait_time25_percentile));
        field(out, ",\"waitTime50Percentile\":", number.format(self.wait_time50_percentile));
        field(out, ",\"waitTime75Percentile\":", number.format(self.wait_time75_percentile));
        field(out, ",\"waitTimeFormatted\":\"", &self.wait_time_formatted);
        field(out, "\",\"queueIsFull\":", truth(self.queue_is_full));
        field(out, ",\"queueAll\":", truth(self.queue_all));
        field(out, ",\"lastUpdated\":\"", self.last_updated.0.write_iso(&mut time));
        let interval = number.format(self.refresh_interval_seconds);
        field(out, "\",\"refreshIntervalSeconds\":", interval);
        if !self.is_event_active {
            return field(out, self.method(), REST);
        }
        field(out, self.method(), ",\"isEventActive\":true");
        field(out, ",\"isEventPrequeueing\":", truth(self.is_event_prequeueing));
        field(out, ",\"timeUntilEventStart\":", number.format(self.time_until_event_start));
        let formatted = &self.time_until_event_start_formatted;
        field(out, ",\"timeUntilEventStartFormatted\":\"", formatted);
        field(out, "\",\"timeUntilEventEnd\":", number.format(self.time_until_event_end));
        field(out, ",\"timeUntilEventEndFormatted\":\"", &self.time_until_event_end_formatted);
        field(out, "\",\"shuffleAtEventStart\":", truth(self.shuffle_at_event_start));
        field(out, END, "}");
    }

    /// Returns the JSON fields about the order of admission.
    const fn method(&self) -> &'static str {
        if self.is_random_queue {
            ",\"queueingMethod\":\"random\",\"isFIFOQueue\":false,\"isRandomQueue\":true,\
             \"isPassthroughQueue\":false,\"isRejectQueue\":false"
        } else if self.is_passthrough_queue {
            ",\"queueingMethod\":\"passthrough\",\"isFIFOQueue\":false,\"isRandomQueue\":false,\
             \"isPassthroughQueue\":true,\"isRejectQueue\":false"
        } else if self.is_reject_queue {
            ",\"queueingMethod\":\"reject\",\"isFIFOQueue\":false,\"isRandomQueue\":false,\
             \"isPassthroughQueue\":false,\"isRejectQueue\":true"
        } else {
            ",\"queueingMethod\":\"fifo\",\"isFIFOQueue\":true,\"isRandomQueue\":false,\
             \"isPassthroughQueue\":false,\"isRejectQueue\":false"
        }
    }
}

/// Template variables that are not fields of the JSON response.
impl CfWaitingRoom {
    /// The names of all variables: the fields of the JSON response, and two that only templates
    /// have.
    #[rustfmt::skip]
    pub(super) const VARIABLES: &[&str] = &[
        "infiniteQueue", "inWaitingRoom", "isEventActive", "isEventPrequeueing", "isFIFOQueue",
        "isPassthroughQueue", "isRandomQueue", "isRejectQueue", "lastUpdated", "queueAll",
        "queueIsFull", "queueingMethod", "refreshIntervalSeconds", "shuffleAtEventStart",
        "timeUntilEventEnd", "timeUntilEventEndFormatted", "timeUntilEventStart",
        "timeUntilEventStartFormatted", "turnstile", "waitTime", "waitTime25Percentile",
        "waitTime50Percentile", "waitTime75Percentile", "waitTimeFormatted", "waitTimeHourMinutes",
        "waitTimeHours", "waitTimeKnown",
    ];

    /// Returns the number of whole hours in the wait.
    pub(super) const fn hours(&self) -> u64 {
        self.wait_time / 60
    }

    /// Returns the number of minutes in the wait that remain after the whole hours.
    pub(super) const fn minutes_over(&self) -> u64 {
        self.wait_time % 60
    }
}

/// Returns the number of seconds from `last_updated` until a retry can succeed, or 0 if no retry
/// can succeed.
///
/// `Retry-After` is relative to the current time, so the time since `last_updated` is added.
fn refresh_interval(answer: &Answer) -> u64 {
    let since = answer.last_check_in.map(|last| answer.now.since(last)).unwrap_or_default();
    answer.retry_after.map_or(0, |retry_after| whole_seconds(retry_after.saturating_add(since)))
}

/// Formats a number of minutes in words. Cloudflare formats this field in English for every
/// visitor.
fn said(minutes: u64) -> String {
    let unit = if minutes == 1 { " minute" } else { " minutes" };
    [itoa::Buffer::new().format(minutes), unit].concat()
}

/// Returns the name that Cloudflare's API and page templates use for an order of admission.
pub(super) const fn name(method: QueueingMethod) -> &'static str {
    match method {
        QueueingMethod::Fifo => "fifo",
        QueueingMethod::Passthrough => "passthrough",
        QueueingMethod::Random => "random",
        QueueingMethod::Reject => "reject",
    }
}

/// Appends the name of a field, with its punctuation, and its value. The function is inlined, because
/// a name of known length is copied without a call.
#[inline]
pub(super) fn field(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(value.as_bytes());
}

/// Returns a boolean in JSON.
const fn truth(it: bool) -> &'static str {
    if it { "true" } else { "false" }
}

/// Returns a time until an event in words.
fn until(minutes: u64) -> Cow<'static, str> {
    if minutes == 0 { Cow::Borrowed(UNAVAILABLE) } else { Cow::Owned(said(minutes)) }
}

/// The JSON fields after those of an event, without the closing brace.
const END: &str = ",\"turnstile\":\"\",\"infiniteQueue\":false";

/// The JSON fields about events, and those of features that this crate lacks, in an answer without
/// an event.
const REST: &str = ",\"isEventActive\":false,\"isEventPrequeueing\":false,\
    \"timeUntilEventStart\":0,\"timeUntilEventStartFormatted\":\"unavailable\",\
    \"timeUntilEventEnd\":0,\"timeUntilEventEndFormatted\":\"unavailable\",\
    \"shuffleAtEventStart\":false,\"turnstile\":\"\",\"infiniteQueue\":false}";

/// Cloudflare's word for an unknown time.
const UNAVAILABLE: &str = "unavailable";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use waiting_room_core::Reason;

    use super::*;
    use crate::respond::sample;

    fn object(answer: &Answer) -> Value {
        serde_json::to_value(CfWaitingRoom::new(answer)).unwrap()
    }

    #[test]
    fn a_line_in_order_has_exactly_the_fields_of_cloudflare() {
        let object = object(&sample::placed());
        assert_eq!(object.as_object().unwrap().len(), 25);
        assert_eq!(
            object,
            json!({
                "inWaitingRoom": true,
                "waitTimeKnown": true,
                "waitTime": 6,
                "waitTime25Percentile": 0,
                "waitTime50Percentile": 0,
                "waitTime75Percentile": 0,
                "waitTimeFormatted": "6 minutes",
                "queueIsFull": false,
                "queueAll": false,
                "lastUpdated": "2026-11-21T08:00:00.000Z",
                "refreshIntervalSeconds": 9,
                "queueingMethod": "fifo",
                "isFIFOQueue": true,
                "isRandomQueue": false,
                "isPassthroughQueue": false,
                "isRejectQueue": false,
                "isEventActive": false,
                "isEventPrequeueing": false,
                "timeUntilEventStart": 0,
                "timeUntilEventStartFormatted": "unavailable",
                "timeUntilEventEnd": 0,
                "timeUntilEventEndFormatted": "unavailable",
                "shuffleAtEventStart": false,
                "turnstile": "",
                "infiniteQueue": false,
            })
        );
    }

    #[test]
    fn the_output_is_that_of_serde() {
        let methods = [
            QueueingMethod::Fifo,
            QueueingMethod::Passthrough,
            QueueingMethod::Random,
            QueueingMethod::Reject,
        ];
        let answers = sample::answers()
            .flat_map(|answer| methods.map(|method| Answer { method, ..answer.clone() }));
        for answer in answers {
            let mut written = Vec::new();
            let object = CfWaitingRoom::new(&answer);
            object.write(&mut written);
            let expected = serde_json::to_string(&object).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), expected);
        }
    }

    #[test]
    fn an_event_has_its_times_in_whole_minutes() {
        let prequeue = object(&sample::prequeue());
        assert_eq!(
            (&prequeue["isEventActive"], &prequeue["queueAll"]),
            (&json!(true), &json!(false))
        );
        assert_eq!(prequeue["isEventPrequeueing"], true);
        assert_eq!(prequeue["timeUntilEventStart"], 10);
        assert_eq!(prequeue["timeUntilEventStartFormatted"], "10 minutes");
        assert_eq!(prequeue["timeUntilEventEnd"], 70);
        assert_eq!(prequeue["timeUntilEventEndFormatted"], "70 minutes");
        assert_eq!(prequeue["shuffleAtEventStart"], true);
        let active = object(&sample::drawn());
        assert_eq!(
            (&active["isEventActive"], &active["isEventPrequeueing"]),
            (&json!(true), &json!(false))
        );
        assert_eq!(active["timeUntilEventStart"], 0);
        assert_eq!(active["timeUntilEventStartFormatted"], "unavailable");
        assert_eq!(active["timeUntilEventEnd"], 60);
    }

    #[test]
    fn a_lottery_has_percentiles() {
        let object = object(&sample::lottery());
        assert_eq!(object["waitTimeFormatted"], "5 minutes to 7 minutes");
        let percentiles =
            ["25", "50", "75"].map(|percent| &object[format!("waitTime{percent}Percentile")]);
        assert_eq!(percentiles, [5, 6, 7]);
        assert_eq!((&object["waitTime"], &object["isRandomQueue"]), (&json!(6), &json!(true)));
    }

    #[test]
    fn an_unknown_wait_is_unavailable() {
        let object = object(&sample::paused());
        assert_eq!(object["waitTimeKnown"], false);
        assert_eq!((&object["waitTime"], &object["queueAll"]), (&json!(0), &json!(true)));
        assert_eq!(object["waitTimeFormatted"], "unavailable");
    }

    #[test]
    fn a_rejected_visitor_is_not_asked_to_return() {
        let rejected = sample::refusal(Reason::RefusedReject);
        assert_eq!(object(&rejected)["refreshIntervalSeconds"], 0);
        assert_eq!(object(&sample::refusal(Reason::RefusedLineFull))["queueIsFull"], true);
    }

    #[test]
    fn the_interval_counts_from_the_last_attempt_that_counted() {
        let early = Answer {
            now: sample::NOW + Duration::from_secs(5),
            retry_after: Some(Duration::from_millis(3_200)),
            ..sample::placed()
        };
        assert_eq!(object(&early)["refreshIntervalSeconds"], 9);
        assert_eq!(object(&early)["lastUpdated"], "2026-11-21T08:00:00.000Z");
    }

    #[test]
    fn one_minute_is_singular() {
        assert_eq!((said(1), said(2)), ("1 minute".to_owned(), "2 minutes".to_owned()));
    }
}
