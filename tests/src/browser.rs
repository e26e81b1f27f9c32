//! A headless Chromium, driven through WebDriver.

use std::sync::Arc;

use fantoccini::{Client, ClientBuilder, Locator, error::CmdError, wd::WebDriverCompatibleCommand};
use http::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::{Semaphore, SemaphorePermit};
use url::{ParseError, Url};

use crate::{driver::Driver, installed, until};

/// A browser with a profile of its own. It is closed when this is dropped.
#[derive(Debug)]
pub struct Browser {
    client: Client,
    session: String,
    driver: Arc<Driver>,
    _profile: TempDir,
    _turn: SemaphorePermit<'static>,
}

impl Browser {
    /// Starts a browser, once fewer than `MAX_BROWSERS` are running.
    pub async fn start() -> Self {
        static TURNS: Semaphore = Semaphore::const_new(MAX_BROWSERS);
        let turn = TURNS.acquire().await.unwrap();
        let driver = Driver::shared();
        let profile = TempDir::new().unwrap();
        let mut arguments = ARGUMENTS.map(str::to_owned).to_vec();
        arguments.push(format!("--user-data-dir={}", profile.path().display()));
        let capabilities = json!({
            "goog:chromeOptions": { "args": arguments, "binary": installed("chromium") },
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities.as_object().cloned().unwrap())
            .connect(&driver.url())
            .await
            .unwrap();
        let session = client.session_id().await.unwrap().unwrap();
        Self { client, session, driver, _profile: profile, _turn: turn }
    }

    /// Navigates to an address as if it were typed.
    pub async fn goto(&self, url: &str) {
        self.client.goto(url).await.unwrap();
    }

    /// The WebDriver client, for all other commands.
    #[must_use]
    pub const fn client(&self) -> &Client {
        &self.client
    }

    /// The visible text of the first element that matches the selector, if there is one now.
    pub async fn text(&self, selector: &str) -> Option<String> {
        self.client.find(Locator::Css(selector)).await.ok()?.text().await.ok()
    }

    /// Returns the text of this element as soon as it satisfies `wanted`.
    pub async fn text_when(&self, selector: &str, wanted: impl Fn(&str) -> bool) -> String {
        until(&format!("the text of {selector}"), async || {
            self.text(selector).await.filter(|text| wanted(text))
        })
        .await
    }

    /// Returns the request that the application received, as soon as its page is shown.
    pub async fn inside(&self) -> String {
        self.text_when("#asked", |_| true).await
    }

    /// Evaluates an expression in the page.
    pub async fn value(&self, expression: &str) -> Value {
        self.client.execute(&format!("return {expression}"), Vec::new()).await.unwrap()
    }

    /// Evaluates an expression in the page, and awaits the promise that it returns.
    pub async fn promised(&self, expression: &str) -> Value {
        let script = format!(
            "const done = arguments[arguments.length - 1];\
             Promise.resolve({expression}).then(done, error => done(String(error)));"
        );
        self.client.execute_async(&script, Vec::new()).await.unwrap()
    }

    /// Sends a command of the DevTools protocol.
    pub async fn devtools(&self, command: &str, parameters: Value) -> Value {
        let body = json!({ "cmd": command, "params": parameters });
        self.command("goog/cdp/execute", body).await.unwrap()
    }

    /// Disables scripts for all pages from now on.
    pub async fn without_scripts(self) -> Self {
        let parameters = json!({ "value": true });
        self.devtools("Emulation.setScriptExecutionDisabled", parameters).await;
        self
    }

    /// Makes the page see the preferred colour scheme `dark` or `light`, and a preference for
    /// reduced motion.
    pub async fn prefer(&self, scheme: &str) {
        let features = json!([
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]);
        self.devtools("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    /// Returns the messages in the console of the browser since the last call.
    pub async fn complaints(&self) -> Vec<String> {
        let entries = self.command("se/log", json!({ "type": "browser" })).await.unwrap();
        let entries = entries.as_array().cloned().unwrap_or_default();
        entries.iter().map(|entry| entry["message"].to_string()).collect()
    }

    async fn command(&self, path: &'static str, body: Value) -> Result<Value, CmdError> {
        self.client.issue_cmd(Extension { path, body }).await
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // If the driver fails to close the browser, both end when the driver is dropped.
        let _ = self.driver.close(&self.session);
    }
}

/// A command of ChromeDriver that is not part of WebDriver.
#[derive(Debug)]
struct Extension {
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for Extension {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.body.to_string()))
    }
}

/// The maximum number of concurrent browsers. Each of them takes a core for a second, and 200 MB.
const MAX_BROWSERS: usize = 3;

/// For use as root in a container without a display, and without requests to other servers.
const ARGUMENTS: [&str; 12] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--host-resolver-rules=MAP *.example 127.0.0.1",
    "--no-default-browser-check",
    "--no-first-run",
];
