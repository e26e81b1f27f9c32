//! The lines that a test logs on its thread.

use std::{
    fmt::{Debug, Write as _},
    sync::{Arc, LazyLock, Mutex},
};

use tracing::{
    Dispatch, Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
    subscriber::{DefaultGuard, NoSubscriber, set_default},
};

/// The events of this crate on one thread, as long as the guard lives.
#[derive(Clone, Default)]
pub(crate) struct Logged(Arc<Mutex<Vec<String>>>);

impl Logged {
    /// Begins to record. With a runtime of one thread, the events of all tasks are recorded.
    ///
    /// A second dispatcher lives for the duration of the tests. With only one dispatcher alive,
    /// tracing would cache the interest of the thread that reaches an event first, and a test on a
    /// thread without interest would turn the event off for all others.
    pub(crate) fn begin() -> (Self, DefaultGuard) {
        static SECOND: LazyLock<Dispatch> =
            LazyLock::new(|| Dispatch::new(NoSubscriber::default()));
        LazyLock::force(&SECOND);
        let logged = Self::default();
        let guard = set_default(logged.clone());
        (logged, guard)
    }

    /// The events so far that contain these words, such as `WARN a site is refused site=3`.
    pub(crate) fn with(&self, words: &str) -> Vec<String> {
        let lines = self.0.lock().unwrap();
        lines.iter().filter(|line| line.contains(words)).cloned().collect()
    }
}

impl Subscriber for Logged {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("waiting_room_ledger")
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text::default();
        event.record(&mut text);
        let line = format!("{} {}{}", event.metadata().level(), text.message, text.fields);
        self.0.lock().unwrap().push(line);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// The message and the fields of an event.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}
