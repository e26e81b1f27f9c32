//! The default page, written without a template engine.
//!
//! An attacker can request pages as often as answers for programs, and a template engine needs
//! about 90 000 instructions to render a page like this one. The page is therefore written straight
//! into one buffer. The parts that are the same in every page of a language are joined once, into a
//! [`Frame`].
//!
//! The style and the script are the same in every page. The `Content-Security-Policy` therefore
//! allows them by their hashes, and a finished page can be sent to several visitors.

use std::{
    borrow::Cow,
    sync::{Arc, LazyLock, OnceLock},
};

use memchr::memchr_iter;
use waiting_room_core::Timestamp;

use super::{Answer, Message, Outcome, i18n::Phrase, look::Look};
use crate::request::{ClientKind, Language};

/// The default page with the settings of an operator.
#[derive(Debug)]
pub(super) struct OwnPage {
    look: Arc<Look>,
    /// The frame of the page in each language, by [`Language::index`], once it has been needed.
    frames: Box<[OnceLock<Frame>]>,
}

impl OwnPage {
    /// Prepares the page with these settings.
    pub(super) fn new(look: Look) -> Self {
        let frames = (0..Language::MAX).map(|_| OnceLock::new()).collect();
        Self { look: Arc::new(look), frames }
    }

    /// Returns the settings.
    pub(super) const fn look(&self) -> &Arc<Look> {
        &self.look
    }

    /// Renders the page for an answer.
    pub(super) fn render(&self, answer: &Answer) -> String {
        let language = answer.language;
        let frame = self.frames[language.index()].get_or_init(|| Frame::new(language, &self.look));
        let message = answer.message();
        let title = self.look.title.as_deref().unwrap_or(&answer.room);
        let is_waiting = answer.outcome == Outcome::Wait;
        let is_unsent = is_unsent(answer);
        let mut retry = itoa::Buffer::new();
        let retry = retry.format(answer.retry_after_seconds().unwrap_or(20));
        let may_return = answer.outcome == Outcome::Refuse && answer.retry_after.is_some();

        let mut html = String::with_capacity(frame.len + ROOM);
        html.push_str(&frame.head);
        escape(&message.title, &mut html);
        html.push_str(" · ");
        escape(title, &mut html);
        html.push_str(ICON);
        if may_return && !is_unsent {
            html.push_str("\n<noscript><meta http-equiv=\"refresh\" content=\"");
            html.push_str(retry);
            html.push_str("\"></noscript>");
        }
        html.push_str(&frame.style);
        write_data(frame, answer, title, retry, &mut html);
        html.push_str(&frame.room);
        escape(title, &mut html);
        html.push_str("</p>\n<h1 id=\"position\"");
        if is_waiting {
            write_position(answer, &message, &mut html);
            write_progress(answer, &mut html);
        } else {
            html.push('>');
            escape(&message.headline, &mut html);
            html.push_str("</h1>");
        }
        write_detail(answer, &message.detail, &mut html);
        write_paragraph("\n<p class=\"wait\" id=\"wait\"", &message.wait, &mut html);
        write_paragraph("\n<p class=\"soft\" id=\"again\"", &message.again, &mut html);
        write_paragraph("\n<p class=\"soft\" id=\"keep\"", &message.keep, &mut html);
        html.push_str(&frame.notes);
        if is_unsent {
            write_send(language, &mut html);
        } else if may_return {
            write_retry(language, &mut html);
        }
        if answer.transfer.is_some() {
            write_transfer(language, &mut html);
        }
        html.push_str(HEARD);
        write_time(frame, answer, &mut html);
        html.push_str(&frame.foot);
        html
    }

    /// Replaces the nonces in a `Content-Security-Policy` with the hashes of the style and the
    /// script, so that the policy allows no other inline content. A nonce in `style-src` is replaced
    /// with the hash of the style, a nonce in `script-src` with the hash of the script, and a nonce
    /// in any other directive with both.
    pub(super) fn with_hashes(&self, policy: &str) -> String {
        let style = self.style_source();
        let directives = policy.split(';').map(|directive| {
            let name = directive.trim_start();
            let sources = if name.starts_with("style-src") {
                style.clone()
            } else if name.starts_with("script-src") {
                Cow::Borrowed(SCRIPT_SOURCE)
            } else {
                format!("{style} {SCRIPT_SOURCE}").into()
            };
            directive.replace("'nonce-{nonce}'", &sources)
        });
        directives.collect::<Vec<_>>().join(";")
    }

    /// Returns the CSP source expression (Level 3, section 2.3.1) that allows the style.
    fn style_source(&self) -> Cow<'static, str> {
        #[cfg(feature = "room")]
        if !self.look.palette.is_empty() {
            return source(&style(&self.look.palette)).into();
        }
        Cow::Borrowed(STYLE_SOURCE)
    }
}

/// The parts of the page that are the same in every answer in one language.
#[derive(Debug)]
struct Frame {
    /// The beginning of the page, up to the title of the window.
    head: String,
    /// The style, up to the name of the outcome.
    style: String,
    /// The texts for the script, after the title of the page.
    labels: String,
    /// The logo, up to the title of the page.
    room: String,
    /// The notes below the sentences.
    notes: String,
    /// The note that the page updates by itself.
    updates: String,
    /// The label of the last update, up to its time.
    updated: String,
    /// The end of the page, with the script.
    foot: String,
    /// The length of all parts, in bytes.
    len: usize,
}

impl Frame {
    /// Joins the parts of the page in a language, with the settings of an operator.
    fn new(language: Language, look: &Look) -> Self {
        let text = |phrase| escaped(&language.phrase(phrase));
        let tag = language.tag();
        let direction = direction(language);
        let style = style(&look.palette);
        let [offline, online] = [Phrase::Offline, Phrase::Online].map(text);
        let [slower, returned] = [Phrase::Slower, Phrase::Returned].map(text);
        let turn = text(Phrase::HeadlineTurn);
        let cookies = text(Phrase::Cookies);
        let logo = look.logo.as_deref().map(|logo| {
            let logo = escaped(logo);
            format!("\n<img class=\"logo\" src=\"{logo}\" alt=\"\">")
        });
        let notice = look.notice.as_deref().map(|notice| {
            let notice = escaped(notice);
            format!("\n<p class=\"note\" id=\"notice\">{notice}</p>")
        });
        let support = look.support.as_deref().map(|address| {
            let address = escaped(address);
            let label = text(Phrase::Support);
            format!(
                "\n<br><a class=\"support\" href=\"{address}\" target=\"_blank\" \
                 rel=\"noopener noreferrer\">{label}</a>"
            )
        });
        let logo = logo.unwrap_or_default();
        let notice = notice.unwrap_or_default();
        let support = support.unwrap_or_default();
        let mut frame = Self {
            head: format!(
                "<!doctype html>\n<html lang=\"{tag}\" dir=\"{direction}\">\n<head>\n\
                 <meta charset=\"utf-8\">\n\
                 <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
                 <meta name=\"color-scheme\" content=\"light dark\">\n<title>"
            ),
            style: format!(
                "\n<style>{style}</style>\n</head>\n<body>\n<main id=\"page\" data-outcome=\""
            ),
            labels: format!(
                "\"\n  data-offline=\"{offline}\" data-online=\"{online}\" data-turn=\"{turn}\"\
                 \n  data-slower=\"{slower}\" data-returned=\"{returned}\""
            ),
            room: format!(">{logo}\n<p class=\"room\">"),
            notes: format!(
                "{notice}\n<p class=\"note\" id=\"why\" hidden></p>\
                 \n<p class=\"note\" id=\"lost\" hidden>{offline}</p>\
                 \n<p class=\"note\" id=\"cookies\" hidden>{cookies}</p>"
            ),
            updates: text(Phrase::Updates) + " ",
            updated: text(Phrase::Updated) + " <time id=\"updated\" datetime=\"",
            foot: format!("{support}\n</footer>\n<script>{}</script>\n</body>\n</html>", *SCRIPT),
            len: 0,
        };
        let Self { head, style, labels, room, notes, updates, updated, foot, .. } = &frame;
        let parts = [head, style, labels, room, notes, updates, updated, foot];
        frame.len = parts.into_iter().map(String::len).sum();
        frame
    }
}

/// Writes the data that the script of the page needs.
fn write_data(frame: &Frame, answer: &Answer, title: &str, retry: &str, html: &mut String) {
    html.push_str(answer.outcome.as_str());
    html.push_str("\" data-retry=\"");
    html.push_str(retry);
    html.push_str("\" data-title=\"");
    escape(title, html);
    html.push_str(&frame.labels);
    if is_unsent(answer) {
        html.push_str(" data-unsent");
    }
    if let Some(push) = &answer.push {
        html.push_str(" data-push=\"");
        escape(push, html);
        html.push('"');
    }
    if let Some(transfer) = &answer.transfer {
        html.push_str(" data-transfer=\"");
        escape(transfer, html);
        html.push_str("\" data-void=\"");
        escape(&answer.language.phrase(Phrase::TransferVoid), html);
        html.push('"');
    }
}

/// Writes the attributes and the content of the element with the place in line. The number has an
/// element of its own.
fn write_position(answer: &Answer, message: &Message, html: &mut String) {
    let position = message.position.as_deref().unwrap_or_default();
    let Some(number) = &message.number else {
        html.push('>');
        escape(position, html);
        html.push_str("</h1>");
        return;
    };
    if answer.position.is_none() || answer.is_approximate {
        html.push_str(" data-approximate");
    }
    let (before, after) = around(position, number);
    html.push_str("><span>");
    escape(before, html);
    html.push_str("</span><b");
    if number.chars().count() > 5 {
        html.push_str(" class=\"long\"");
    }
    html.push('>');
    // Digits and their separators need no escaping.
    html.push_str(number);
    html.push_str("</b><span>");
    escape(after, html);
    html.push_str("</span></h1>");
}

/// Returns the parts of the position before and after its number, or two empty strings if the
/// position does not contain the number.
fn around<'a>(position: &'a str, number: &str) -> (&'a str, &'a str) {
    // The number is short, so the occurrences of its first byte are tried one by one.
    let first = number.as_bytes().first().copied().unwrap_or_default();
    let mut places = memchr_iter(first, position.as_bytes()).map(|at| position.split_at(at));
    let around = places.find_map(|(before, rest)| Some((before, rest.strip_prefix(number)?)));
    around.unwrap_or_default()
}

/// Writes the progress bar.
fn write_progress(answer: &Answer, html: &mut String) {
    let progress = progress(answer);
    html.push_str("\n<svg class=\"bar");
    if progress.is_none() {
        html.push_str(" open");
    }
    html.push_str("\" aria-hidden=\"true\"><rect id=\"bar\" height=\"100%\" rx=\"4\" width=\"");
    html.push_str(itoa::Buffer::new().format(progress.unwrap_or(25)));
    html.push_str("%\"/></svg>");
}

/// Writes a paragraph with a sentence, which is hidden if there is none.
fn write_paragraph(begin: &str, sentence: &Option<Cow<'static, str>>, html: &mut String) {
    html.push_str(begin);
    match sentence {
        None => html.push_str(" hidden>"),
        Some(sentence) => {
            html.push('>');
            escape(sentence, html);
        }
    }
    html.push_str("</p>");
}

/// Writes the detail. If it contains the 64 digits with which anyone can check a draw, the visitor
/// has to open the detail to see them all.
fn write_detail(answer: &Answer, detail: &Option<Cow<'static, str>>, html: &mut String) {
    let published = answer.event.iter().flat_map(|event| [&event.seed, &event.commitment]);
    let mut parts = published.flatten().filter_map(|digits| {
        let (before, after) = detail.as_ref()?.split_once(digits.as_str())?;
        Some((before, digits, after))
    });
    let Some((before, digits, after)) = parts.next() else {
        write_paragraph("\n<p id=\"detail\"", detail, html);
        html.push_str("\n<details id=\"proof\" hidden><summary></summary><code></code></details>");
        return;
    };
    html.push_str("\n<p id=\"detail\" hidden></p>\n<details id=\"proof\"><summary>");
    escape(before, html);
    html.push_str(digits.get(..8).unwrap_or(digits));
    html.push('…');
    escape(after, html);
    html.push_str("</summary><code>");
    html.push_str(digits);
    html.push_str("</code></details>");
}

/// Writes the button that submits a form again.
fn write_send(language: Language, html: &mut String) {
    html.push_str("\n<p class=\"note\">");
    escape(&language.phrase(Phrase::Unsent), html);
    html.push_str("</p>\n<button class=\"button\" id=\"reload\" hidden>");
    escape(&language.phrase(Phrase::ButtonSend), html);
    html.push_str("</button>");
}

/// Writes the link that repeats a refused request.
fn write_retry(language: Language, html: &mut String) {
    html.push_str("\n<a class=\"button\" id=\"retry\" href=\"\">");
    escape(&language.phrase(Phrase::ButtonAgain), html);
    html.push_str("</a>\n<p class=\"soft\">");
    escape(&language.phrase(Phrase::Retries), html);
    html.push_str("</p>");
}

/// Writes the elements with which a visitor continues on another device.
fn write_transfer(language: Language, html: &mut String) {
    html.push_str(
        "\n<p class=\"note\" id=\"void\" hidden></p>\
         \n<p id=\"come\" hidden><button class=\"button\" id=\"here\">",
    );
    escape(&language.phrase(Phrase::TransferHere), html);
    html.push_str(
        "</button></p>\
         \n<p class=\"note\" id=\"share\" hidden><label for=\"link\">",
    );
    escape(&language.phrase(Phrase::TransferLink), html);
    html.push_str("</label><input id=\"link\" readonly dir=\"ltr\"></p>");
}

/// Writes the time of the answer, with the notes around it.
fn write_time(frame: &Frame, answer: &Answer, html: &mut String) {
    let is_waiting = answer.outcome == Outcome::Wait;
    if is_waiting {
        html.push_str(&frame.updates);
    }
    html.push_str(&frame.updated);
    let mut now = [0; Timestamp::ISO_LEN];
    let now = answer.now.write_iso(&mut now);
    html.push_str(now);
    html.push_str("\">");
    html.push_str(&now[11..16]);
    html.push_str(" UTC</time>");
    if is_waiting && answer.transfer.is_some() {
        html.push_str("\n<br><button class=\"support\" id=\"offer\">");
        escape(&answer.language.phrase(Phrase::TransferOffer), html);
        html.push_str("</button>");
    }
}

/// Returns the value of the `dir` attribute in a language.
pub(super) fn direction(language: Language) -> &'static str {
    if language.is_right_to_left() { "rtl" } else { "ltr" }
}

/// Returns whether the visitor sent a form that did not reach the application. The page must then
/// offer to submit the form again, because a reload sends a GET request and would drop the input.
fn is_unsent(answer: &Answer) -> bool {
    answer.kind == ClientKind::Navigation && !answer.is_safe
}

/// Returns the percentage of the total expected wait that has passed: the time waited so far,
/// divided by the sum of this time and the median remaining wait. Returns `None` if either time is
/// unknown.
pub(super) fn progress(answer: &Answer) -> Option<u64> {
    let waited = answer.now.since(answer.waiting_since?).as_secs();
    let total = waited.saturating_add(answer.wait?.p50.as_secs());
    Some(100 * waited / total.max(1))
}

/// Appends a string, escaped for HTML like the values in a template.
pub(super) fn escape(text: &str, html: &mut String) {
    let mut rest = text;
    while let Some(at) = first_escaped(rest.as_bytes()) {
        html.push_str(&rest[..at]);
        html.push_str(match rest.as_bytes()[at] {
            b'"' => "&quot;",
            b'&' => "&amp;",
            b'\'' => "&#x27;",
            b'/' => "&#x2f;",
            b'<' => "&lt;",
            _ => "&gt;",
        });
        rest = &rest[at + 1..];
    }
    html.push_str(rest);
}

/// Returns a string, escaped for HTML.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    escape(text, &mut html);
    html
}

/// Returns the index of the first byte that has to be escaped, or `None` if there is none.
fn first_escaped(text: &[u8]) -> Option<usize> {
    // Most texts contain no such byte. The bytes of a block are checked at once, and the last block
    // may overlap the one before it.
    let is_clean = match (text.last_chunk::<16>(), text.first_chunk::<8>(), text.last_chunk::<8>())
    {
        (Some(last), ..) => text.as_chunks::<16>().0.iter().all(is_clean) && is_clean(last),
        (None, Some(first), Some(last)) => is_clean(first) && is_clean(last),
        _ => false,
    };
    if is_clean { None } else { text.iter().position(|byte| is_escaped(*byte)) }
}

/// Returns whether no byte of a block has to be escaped.
#[inline]
fn is_clean<const N: usize>(block: &[u8; N]) -> bool {
    !block.iter().fold(false, |any, byte| any | is_escaped(*byte))
}

/// Returns whether a byte is escaped in HTML: `"`, `&`, `'`, `/`, `<` or `>`. Two of these bytes
/// differ from the next one in this list in only one bit.
const fn is_escaped(byte: u8) -> bool {
    (byte | 1 == b'\'') | (byte | 2 == b'>') | (byte == b'"') | (byte == b'/')
}

/// Returns the style of the page, with this palette.
fn style(palette: &str) -> String {
    let (before, after) = STYLE.split_once("\n/* palette */").unwrap_or((STYLE, ""));
    format!("\n{before}{palette}{after}")
}

/// Returns the CSP source expression that allows this content of an element.
#[cfg(feature = "room")]
fn source(content: &str) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use sha2::{Digest, Sha256};

    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(content)))
}

/// The style of the page, with a placeholder for the palette.
pub(super) const STYLE: &str = include_str!("page.css");

/// The script of the page, with its parts for push and for transfers, and without its comments,
/// which would be a twelfth of each page.
static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    let script = include_str!("page.js")
        .replace("  /* push.js */\n", include_str!("push.js"))
        .replace("  /* transfer.js */\n", include_str!("transfer.js"));
    let lines = script.split_inclusive('\n');
    let lines = lines.filter(|line| !line.trim_start().starts_with("//"));
    std::iter::once("\n").chain(lines).collect()
});

/// The source expressions of the script, and of the style without a palette. A test computes them.
const SCRIPT_SOURCE: &str = "'sha256-HvqPmtgepohjI7VCZRgFvIMGE9ekYundezmpLuKziZ0='";
const STYLE_SOURCE: &str = "'sha256-Tqe7+TSoMsMvgIbQKTm0a5ovI6wV727vKoYpR1OZcmg='";

/// The end of the title, and the icon. The icon is embedded, so that browsers do not request one
/// through the room.
const ICON: &str = "</title>\n<link rel=\"icon\" href=\"data:image/svg+xml,\
    %3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E\
    %3Ccircle cx='8' cy='8' r='7' fill='%236246d8'/%3E\
    %3Cpath d='M8 4v4l3 2' fill='none' stroke='white' stroke-width='1.6' stroke-linecap='round'/%3E\
    %3C/svg%3E\">";

/// The element for announcements to screen readers, and the beginning of the footer.
const HEARD: &str = "\n<p class=\"heard\" id=\"heard\" role=\"status\" aria-live=\"polite\"></p>\
    \n</main>\n<footer>";

/// The number of bytes that the changing parts of a page usually need.
const ROOM: usize = 2048;

#[cfg(test)]
#[cfg(feature = "room")]
mod tests;
