use std::collections::BTreeSet;

use super::*;
use crate::{
    request::Language,
    respond::{EventFacts, Message, sample},
};

/// All variables, computed eagerly.
#[derive(Serialize)]
struct View<'a> {
    title: &'a str,
    logo: Option<&'a str>,
    notice: Option<&'a str>,
    palette: &'a str,
    support: Option<&'a str>,
    nonce: &'a str,
    lang: &'static str,
    dir: &'static str,
    line: Option<u32>,
    outcome: &'static str,
    position: Option<u32>,
    is_approximate: bool,
    retry_after: Option<u64>,
    now: Iso,
    message: Message,
    progress: Option<u64>,
    room: &'a str,
    kind: &'static str,
    reason: String,
    status: u16,
    ahead: Option<u32>,
    wait: Option<WaitSeconds>,
    waiting_since: Option<Iso>,
    last_check_in: Option<Iso>,
    place_retention: u64,
    refresh_interval: u64,
    method: &'static str,
    is_placed: bool,
    is_queue_all: bool,
    is_line_full: bool,
    is_safe: bool,
    event: Option<&'a EventFacts>,
    push: Option<&'a str>,
    token: Option<&'a str>,
    transfer: Option<&'a str>,
    #[serde(rename = "waitTimeHours")]
    wait_time_hours: u64,
    #[serde(rename = "waitTimeHourMinutes")]
    wait_time_hour_minutes: u64,
    #[serde(flatten)]
    cloudflare: CfWaitingRoom,
}

fn view<'a>(answer: &'a Answer, title: &'a str, nonce: &'a str) -> View<'a> {
    let cloudflare = CfWaitingRoom::new(answer);
    View {
        title,
        logo: None,
        notice: Some("Doors open at ten."),
        palette: "",
        support: Some("mailto:help@shop.example"),
        nonce,
        lang: answer.language.tag(),
        dir: direction(answer.language),
        line: answer.line,
        outcome: answer.outcome.as_str(),
        position: answer.position,
        is_approximate: answer.is_approximate,
        retry_after: answer.retry_after_seconds(),
        now: Iso(answer.now),
        message: answer.message(),
        progress: progress(answer),
        room: &answer.room,
        kind: answer.kind.as_str(),
        reason: answer.reason.to_string(),
        status: answer.status.as_u16(),
        ahead: answer.ahead,
        wait: answer.wait.map(WaitSeconds::new),
        waiting_since: answer.waiting_since.map(Iso),
        last_check_in: answer.last_check_in.map(Iso),
        place_retention: answer.place_retention.as_secs(),
        refresh_interval: answer.refresh_interval.as_secs(),
        method: name(answer.method),
        is_placed: answer.is_placed,
        is_queue_all: answer.is_queue_all,
        is_line_full: answer.is_line_full(),
        is_safe: answer.is_safe,
        event: answer.event.as_deref(),
        push: answer.push.as_deref(),
        token: answer.token.as_deref(),
        transfer: answer.transfer.as_deref(),
        wait_time_hours: cloudflare.hours(),
        wait_time_hour_minutes: cloudflare.minutes_over(),
        cloudflare,
    }
}

/// Returns settings with this title.
fn look(title: &str) -> Arc<Look> {
    let mut look = Look { title: Some(title.into()), ..Look::default() };
    look.set_notice("Doors open at ten.").unwrap();
    look.set_support("mailto:help@shop.example").unwrap();
    Arc::new(look)
}

#[test]
fn every_variable_has_its_value_in_every_answer() {
    for language in Language::ALL {
        for answer in sample::answers() {
            let token = Some("shop=x".to_owned());
            let push = Some("/events".into());
            let answer = Answer { language, token, push, ..answer };
            let variables = Variables::new(&answer, &look("Tom & Jerry"));
            let view = view(&answer, "Tom & Jerry", variables.nonce());
            let serde_json::Value::Object(expected) = serde_json::to_value(&view).unwrap() else {
                panic!("the variables are an object")
            };
            let names: BTreeSet<&str> = expected.keys().map(String::as_str).collect();
            assert_eq!(names, NAMES.iter().copied().collect());
            for (name, expected) in &expected {
                let value = variables.variable(name).unwrap();
                assert_eq!(serde_json::to_value(&value).unwrap(), *expected, "{name}");
            }
            assert_eq!(variables.variable("positoin"), None);
        }
    }
}

#[test]
fn a_value_that_a_template_does_not_use_is_not_computed() {
    let template = Template::parse("{{ title }} {{ position }}".to_owned()).unwrap();
    let variables = Arc::new(Variables::new(&sample::placed(), &look("Shop")));
    assert_eq!(template.render(&variables).unwrap(), "Shop 12");
    let Variables { nonce, message, cloudflare, .. } = &*variables;
    assert!(nonce.get().is_none() && message.get().is_none() && cloudflare.get().is_none());
}

#[test]
fn a_template_can_list_its_variables() {
    let template = Template::parse("{{ debug() }}".to_owned()).unwrap();
    let variables = Arc::new(Variables::new(&sample::placed(), &look("Shop")));
    let listed = template.render(&variables).unwrap();
    assert!(NAMES.iter().all(|name| listed.contains(name)), "{listed}");
}
