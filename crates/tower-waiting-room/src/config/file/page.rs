//! The page in a configuration file: a template, or the settings of the page.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};
use waiting_room_core::ConfigError;

use crate::respond::Page;

/// The settings of the page. An absent field has the same default as in [`Page`].
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct PageSettings {
    template: Option<String>,
    title: Option<String>,
    logo: Option<String>,
    accent: Option<AccentFile>,
    notice: Option<String>,
    support: Option<String>,
    default_language: Option<String>,
    #[serde(default)]
    texts: BTreeMap<String, String>,
    content_security_policy: Option<String>,
}

/// The accent colours.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AccentFile {
    light: String,
    dark: String,
}

/// The page: a string is a template, and a map contains settings.
pub(super) struct PageFile(PageSettings);

impl PageFile {
    /// Creates the page.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Page::template`]. The settings are checked with the configuration.
    pub(super) fn page(self) -> Result<Page, ConfigError> {
        let PageSettings {
            template,
            title,
            logo,
            accent,
            notice,
            support,
            default_language,
            texts,
            content_security_policy,
        } = self.0;
        let mut page = template.map_or_else(|| Ok(Page::default()), Page::template)?;
        if let Some(title) = title {
            page = page.title(title);
        }
        for (tag, file) in &texts {
            page = page.texts(tag, file);
        }
        page = set(page, default_language, Page::default_language);
        page = set(page, logo, Page::logo);
        page = set(page, notice, Page::notice);
        page = set(page, support, Page::support);
        if let Some(AccentFile { light, dark }) = accent {
            page = page.accent(&light, &dark);
        }
        Ok(set(page, content_security_policy, Page::content_security_policy))
    }
}

/// Applies a setting, if it is given.
fn set(page: Page, value: Option<String>, apply: impl FnOnce(Page, &str) -> Page) -> Page {
    match value {
        None => page,
        Some(value) => apply(page, &value),
    }
}

impl<'de> Deserialize<'de> for PageFile {
    /// Not derived, because the error of an untagged enum would not name an unknown field.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TemplateOrSettings;

        impl<'de> Visitor<'de> for TemplateOrSettings {
            type Value = PageFile;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the source text of a template, or the settings of the page")
            }

            fn visit_str<E>(self, template: &str) -> Result<PageFile, E> {
                let template = Some(template.to_owned());
                Ok(PageFile(PageSettings { template, ..PageSettings::default() }))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PageFile, A::Error> {
                PageSettings::deserialize(MapAccessDeserializer::new(map)).map(PageFile)
            }
        }

        deserializer.deserialize_any(TemplateOrSettings)
    }
}
