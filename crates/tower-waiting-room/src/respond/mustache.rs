//! Pages in the Mustache language, as Cloudflare Waiting Room uses them (`custom_page_html`).
//!
//! ```text
//! source ─► tags ─► known names, closed sections, bounds ─► steps ─► page
//! ```
//!
//! The language permits templates that no author can have intended: an unknown name is rendered as
//! nothing, and a section need not end. Here, each such mistake is an error that names the line,
//! and is found before the first visitor arrives.
//!
//! All values come from this crate and are short, a section is rendered at most once, and the
//! number of tags is limited. The size of a page and the time to render it are therefore bounded.

mod tags;

use self::tags::{Mistake, Step};
use super::{Answer, cloudflare::CfWaitingRoom, own_page::escape};

/// A checked template in the Mustache language.
pub(super) struct MustachePage {
    steps: Vec<Step>,
    /// The length of all constant texts, in bytes.
    len: usize,
}

impl MustachePage {
    /// The maximum length of a value in bytes. A test checks this maximum for every answer.
    #[cfg(test)]
    pub(super) const MAX_VALUE_LEN: usize = 64;

    /// Reads and checks a template.
    ///
    /// # Errors
    ///
    /// Returns the first mistake in the template, and its line.
    pub(super) fn parse(source: &str) -> Result<Self, Mistake> {
        let steps = tags::steps(source, CfWaitingRoom::VARIABLES)?;
        let texts =
            steps.iter().map(|step| if let Step::Text(text) = step { text.len() } else { 0 });
        Ok(Self { len: texts.sum(), steps })
    }

    /// Renders the page for an answer.
    pub(super) fn render(&self, answer: &Answer) -> String {
        let values = CfWaitingRoom::new(answer);
        let mut html = String::with_capacity(self.len + self.len / 4);
        let mut at = 0;
        while let Some(step) = self.steps.get(at) {
            at += 1;
            match step {
                Step::Skip { name, when, to } => {
                    let is_truthy = values.variable(name).is_some_and(|value| value.is_truthy());
                    if is_truthy == *when {
                        at = *to;
                    }
                }
                Step::Text(text) => html.push_str(text),
                Step::Value { name, is_escaped } => {
                    let value = values.variable(name);
                    let text = value.as_ref().map(|value| value.text()).unwrap_or_default();
                    if *is_escaped {
                        escape(&text, &mut html);
                    } else {
                        html.push_str(&text);
                    }
                }
            }
        }
        html
    }
}

#[cfg(test)]
mod tests;
