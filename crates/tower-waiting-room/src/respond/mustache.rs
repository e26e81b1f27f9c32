//! Pages in the Mustache language, as Cloudflare Waiting Room uses them (`custom_page_html`).
//!
//! The engine (`ramhorns`) accepts some templates that no author can mean: it renders an unknown
//! name as nothing, and a section that never ends as text. The tags of a template are therefore
//! read before the engine sees it, and each mistake is an error with its line:
//!
//! ```text
//! source ─► tags ─► known names, closed sections, bounds ─► engine ─► page
//!            └─ spaces and comments removed, so that the engine reads each tag as the author did
//! ```
//!
//! All values come from this crate and are short, a section is rendered at most once, and the
//! number of tags is limited. The size of a page and the time to render it are therefore bounded
//! before the first visitor arrives.

mod tags;

use ramhorns::{Content, Section, encoding::Encoder, traits::ContentSequence};

use self::tags::Mistake;
use super::{
    Answer,
    cloudflare::{CfWaitingRoom, Variable},
};

/// A template in the Mustache language, after its checks.
pub(super) struct MustachePage {
    template: ramhorns::Template<'static>,
}

impl MustachePage {
    /// The maximum length of a value in bytes. A test holds it for every answer.
    #[cfg(test)]
    pub(super) const MAX_VALUE_LEN: usize = 64;

    /// Reads and checks a template.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with the template, and the line of the mistake.
    pub(super) fn parse(source: &str) -> Result<Self, Mistake> {
        let clean = tags::checked(source, is_variable)?;
        let template = ramhorns::Template::new(clean);
        // The checks find every mistake that the engine reports, so the line is not known here.
        let template = template.map_err(|error| Mistake { line: 0, what: error.to_string() })?;
        Ok(Self { template })
    }

    /// Renders the page for an answer.
    pub(super) fn render(&self, answer: &Answer) -> String {
        self.template.render(&PageValues(CfWaitingRoom::new(answer)))
    }
}

/// The variables of one page.
struct PageValues(CfWaitingRoom);

impl PageValues {
    /// Renders what a tag with this name stands for. Returns `false` if there is no such variable.
    fn with<E>(
        &self,
        name: &str,
        render: impl FnOnce(&Variable<'_>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let Some(value) = self.0.variable(name) else { return Ok(false) };
        render(&value)?;
        Ok(true)
    }
}

/// The engine asks for each name in the template.
impl Content for PageValues {
    fn render_field_escaped<E: Encoder>(
        &self,
        _: u64,
        name: &str,
        encoder: &mut E,
    ) -> Result<bool, E::Error> {
        self.with(name, |value| encoder.write_escaped(&value.text()))
    }

    fn render_field_unescaped<E: Encoder>(
        &self,
        _: u64,
        name: &str,
        encoder: &mut E,
    ) -> Result<bool, E::Error> {
        self.with(name, |value| encoder.write_unescaped(&value.text()))
    }

    fn render_field_section<C: ContentSequence, E: Encoder>(
        &self,
        _: u64,
        name: &str,
        section: Section<'_, C>,
        encoder: &mut E,
    ) -> Result<bool, E::Error> {
        self.with(name, |value| if value.is_truthy() { section.render(encoder) } else { Ok(()) })
    }

    fn render_field_inverse<C: ContentSequence, E: Encoder>(
        &self,
        _: u64,
        name: &str,
        section: Section<'_, C>,
        encoder: &mut E,
    ) -> Result<bool, E::Error> {
        self.with(name, |value| if value.is_truthy() { Ok(()) } else { section.render(encoder) })
    }
}

/// Returns whether a template may contain a variable of this name.
fn is_variable(name: &str) -> bool {
    CfWaitingRoom::VARIABLES.contains(&name)
}

#[cfg(test)]
mod tests;
