//! The default page, rendered without a template engine.
//!
//! An attacker can request pages as often as answers for programs, and a template engine needs
//! about 90 000 instructions to render the default page. `page.html` is therefore split at
//! start-up, once for each language, into constant texts and the slots between them:
//!
//! ```text
//! page.html ─┬─► steps, once per language ─► flat, once per case ─► one buffer      every request
//!            └─► minijinja ──────────────────────────────────────► the same bytes   tests
//! ```
//!
//! Tests render the file with `minijinja` too, and compare the results, so the two cannot diverge.
//!
//! The style and the script are the same in every page. The `Content-Security-Policy` therefore
//! allows them by their hashes, and a finished page can be sent to several visitors.

mod flat;
mod steps;

use std::sync::{Arc, LazyLock, OnceLock};

use base64::{Engine, engine::general_purpose::STANDARD};
use memchr::memchr_iter;
use sha2::{Digest, Sha256};

use self::{
    flat::{Guards, PageSteps},
    steps::{Guard, Slot, Step, split},
};
use super::{
    Answer, Message, Outcome,
    html::{escape, is_unsent, progress},
    iso::Iso,
    look::Look,
};
use crate::request::Language;

/// The default page with the settings of an operator.
#[derive(Debug)]
pub(super) struct OwnPage {
    look: Arc<Look>,
    /// The page in each language, by [`Language::index`], once it has been needed.
    pages: Box<[OnceLock<PageSteps>]>,
}

impl OwnPage {
    /// Prepares the page with these settings.
    pub(super) fn new(look: Look) -> Self {
        let pages = (0..Language::MAX).map(|_| OnceLock::new()).collect();
        Self { look: Arc::new(look), pages }
    }

    /// Returns the settings.
    pub(super) const fn look(&self) -> &Arc<Look> {
        &self.look
    }

    /// Renders the page for an answer.
    pub(super) fn render(&self, answer: &Answer) -> String {
        let title = self.look.title.as_ref().unwrap_or(&answer.room);
        render(self.page_in(answer.language), answer, title)
    }

    /// Returns the page in a language, and splits it first if it was not needed before.
    fn page_in(&self, language: Language) -> &PageSteps {
        self.pages[language.index()]
            .get_or_init(|| PageSteps::new(split(&SOURCE, language, &self.look)))
    }

    /// Replaces the nonces in a `Content-Security-Policy` with the hashes of the style and the
    /// script, so that the policy allows no other inline content. A nonce in `style-src` is replaced
    /// with the hash of the style, a nonce in `script-src` with the hash of the script, and a nonce
    /// in any other directive with both.
    pub(super) fn with_hashes(&self, policy: &str) -> String {
        let [style, script] = ["style", "script"].map(|element| self.hash(element));
        let directives = policy.split(';').map(|directive| {
            let sources = match directive.trim_start() {
                it if it.starts_with("style-src") => style.clone(),
                it if it.starts_with("script-src") => script.clone(),
                _ => format!("{style} {script}"),
            };
            directive.replace("'nonce-{nonce}'", &sources)
        });
        directives.collect::<Vec<_>>().join(";")
    }

    /// Returns the CSP source expression (Level 3, section 2.3.1) that allows the content of this
    /// element of the page.
    fn hash(&self, element: &str) -> String {
        let content = SOURCE.split_once(&format!("<{element}>")).map_or("", |(_, rest)| rest);
        let content = content.split_once(&format!("</{element}>")).map_or("", |(it, _)| it);
        // The only variable in the style and the script is the palette, and it is the same in every
        // page with these settings. The line break at the end of a template would be left out.
        let content = split(&format!("{content}\n"), Language::default(), &self.look);
        let mut digest = Sha256::new();
        for step in &content {
            if let Step::Text(text) = step {
                digest.update(text);
            }
        }
        format!("'sha256-{}'", STANDARD.encode(digest.finalize()))
    }
}

/// Renders the page for an answer, with this title.
fn render(page: &PageSteps, answer: &Answer, title: &str) -> String {
    let mut now = [0; Iso::LEN];
    let now = Iso(answer.now).format(&mut now);
    let message = &answer.message();
    let around = around_number(message);
    let view = View { answer, title, message, around, progress: progress(answer), now };
    let flat = page.flat(view.holding());
    let mut html = String::with_capacity(flat.len + ROOM);
    for (text, slot) in &flat.slots {
        html.push_str(text);
        view.fill(*slot, &mut html);
    }
    html.push_str(&flat.end);
    html
}

/// Returns the parts of the position before and after its number, or two empty strings if the
/// position contains no number.
fn around_number(message: &Message) -> (&str, &str) {
    let (Some(position), Some(number)) = (&message.position, &message.number) else {
        return ("", "");
    };
    // The number is short, so the places of its first byte are tried one by one.
    let first = number.as_bytes().first().copied().unwrap_or_default();
    let mut places = memchr_iter(first, position.as_bytes()).map(|at| position.split_at(at));
    let around = places.find_map(|(before, rest)| Some((before, rest.strip_prefix(&**number)?)));
    around.unwrap_or_default()
}

/// The values for the slots of one page.
struct View<'a> {
    answer: &'a Answer,
    title: &'a str,
    message: &'a Message,
    /// The parts of the position before and after its number.
    around: (&'a str, &'a str),
    progress: Option<u64>,
    now: &'a str,
}

impl View<'_> {
    /// Writes the value of a slot. Texts are escaped for HTML.
    fn fill(&self, slot: Slot, html: &mut String) {
        let mut digits = itoa::Buffer::new();
        let Message { title, headline, detail, position, number, wait, keep, again } = self.message;
        match slot {
            Slot::Again => escape(again.as_deref().unwrap_or_default(), html),
            Slot::AfterNumber => escape(self.around.1, html),
            Slot::BeforeNumber => escape(self.around.0, html),
            Slot::Clock => html.push_str(&self.now[11..16]),
            Slot::Detail => escape(detail.as_deref().unwrap_or_default(), html),
            Slot::Headline => escape(headline, html),
            Slot::Keep => escape(keep.as_deref().unwrap_or_default(), html),
            Slot::Now => html.push_str(self.now),
            // Digits and their separators need no escaping.
            Slot::Number => html.push_str(number.as_deref().unwrap_or_default()),
            Slot::Outcome => html.push_str(self.answer.outcome.as_str()),
            Slot::Position => escape(position.as_deref().unwrap_or_default(), html),
            Slot::Push => escape(self.answer.push.as_deref().unwrap_or_default(), html),
            Slot::Progress => html.push_str(digits.format(self.progress.unwrap_or_default())),
            Slot::Retry => {
                html.push_str(digits.format(self.answer.retry_after_seconds().unwrap_or(20)));
            }
            Slot::Title => escape(self.title, html),
            Slot::Transfer => escape(self.answer.transfer.as_deref().unwrap_or_default(), html),
            Slot::Wait => escape(wait.as_deref().unwrap_or_default(), html),
            Slot::WindowTitle => escape(title, html),
        }
    }

    /// Returns the conditions that hold.
    fn holding(&self) -> Guards {
        Guard::ALL.into_iter().filter(|guard| self.holds(*guard)).collect()
    }

    /// Returns whether a condition holds.
    fn holds(&self, condition: Guard) -> bool {
        let (answer, message) = (self.answer, self.message);
        match condition {
            Guard::HasNumber => message.number.is_some(),
            Guard::HasPush => answer.push.is_some(),
            Guard::HasTransfer => answer.transfer.is_some(),
            Guard::IsApproximate => answer.position.is_none() || answer.is_approximate,
            Guard::IsLong => message.number.as_ref().is_some_and(|it| it.chars().count() > 5),
            Guard::IsUnsent => is_unsent(answer),
            Guard::IsWaiting => answer.outcome == Outcome::Wait,
            Guard::MayReturn => answer.outcome == Outcome::Refuse && answer.retry_after.is_some(),
            Guard::MayReturnByItself => {
                let is_refused = answer.outcome == Outcome::Refuse;
                is_refused && answer.retry_after.is_some() && !is_unsent(answer)
            }
            Guard::NoAgain => message.again.is_none(),
            Guard::NoDetail => message.detail.is_none(),
            Guard::NoKeep => message.keep.is_none(),
            Guard::NoProgress => self.progress.is_none(),
            Guard::NoWait => message.wait.is_none(),
        }
    }
}

/// The number of bytes that the slots of a page usually need.
const ROOM: usize = 1024;

/// The template of the page, with the parts of its script for push and for transfers, and without the
/// comments of the script, which would be a twelfth of each page.
pub(super) static SOURCE: LazyLock<String> = LazyLock::new(|| {
    let page = include_str!("page.html")
        .replace("  /* push.js */\n", include_str!("push.js"))
        .replace("  /* transfer.js */\n", include_str!("transfer.js"));
    let lines = page.split_inclusive('\n');
    lines.filter(|line| !line.trim_start().starts_with("//")).collect()
});

#[cfg(test)]
mod tests;
