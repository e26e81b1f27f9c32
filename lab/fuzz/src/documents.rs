//! The parsers of documents: of configurations, pages, and messages between sites and the ledger.

use std::fs;

use tower_waiting_room::{WaitingRoomConfig, WaitingRoomLayer, respond::Page};
use waiting_room_cloudflare::WaitingRoom;
use waiting_room_core::Timestamp;
use waiting_room_ledger::{
    EscrowRules, SharedKeys, SiteId,
    model::{GlobalLedger, Incarnation, SiteLedger, Term, ToGlobal, ToSite},
};

use crate::requests::{Sender, Target, room};

/// Reads each input as a room, as rules and as events.
pub(crate) fn cloudflare() -> Target {
    let base = r#"{"name":"shop","host":"h","total_active_users":300,"new_users_per_minute":200}"#;
    let base = WaitingRoom::from_json(base).expect("it is a room");
    Box::new(move |input| {
        let text = String::from_utf8_lossy(input);
        let rooms = [
            WaitingRoom::from_json(&text),
            base.clone().with_rules(&text),
            base.clone().with_events(&text),
        ];
        let read = |room: WaitingRoom| {
            let unsupported =
                room.unsupported().iter().map(|found| found.to_string()).collect::<String>();
            let made =
                (room.config().map(drop), room.schedule().map(drop), room.to_toml().map(drop));
            format!("{unsupported}{made:?}")
        };
        rooms.map(|room| room.map_or_else(|error| error.to_string(), read)).concat()
    })
}

/// Reads each input as a message from a site, as one to a site, and as a file of keys. Both sides receive
/// what they can read, and write it again.
pub(crate) fn ledger() -> Target {
    let site = SiteId::new(1);
    let rules = EscrowRules::new();
    let now = Timestamp::from_secs(1);
    let sides = move || {
        let global = GlobalLedger::new(200, [site], Term::new(1), rules);
        let local = SiteLedger::new(site, Incarnation::new(7), rules, now);
        (global.expect("the rules are right"), local.expect("the rules are right"))
    };
    Box::new(move |input| {
        let (mut global, mut local) = sides();
        drop(local.tick(now));
        let up = ToGlobal::decode(input);
        if let Ok(message) = &up {
            assert_eq!(ToGlobal::decode(&message.encode()).as_ref(), Ok(message));
            for answer in global.receive(message, now) {
                // The margin of the rules may be a default there, which is written out.
                let sent = ToSite::decode(&answer.message.encode());
                assert!(sent.is_ok(), "an answer that its reader refuses: {sent:?}");
                drop(local.receive(&answer.message, now));
            }
        }
        let down = ToSite::decode(input);
        if let Ok(message) = &down {
            assert_eq!(ToSite::decode(&message.encode()).as_ref(), Ok(message));
            drop(local.receive(message, now));
        }
        let keys = SharedKeys::parse(&String::from_utf8_lossy(input)).map(drop);
        format!("{up:?} {down:?} {keys:?}")
    })
}

/// Reads each input as a file: of rules in YAML if it begins with `y`, of rules in TOML if it begins with
/// `t`, and otherwise of a whole configuration.
pub(crate) fn rules() -> Target {
    let folder = std::env::temp_dir();
    let path = |ending| folder.join(format!("waiting-room-fuzz-{}.{ending}", std::process::id()));
    let paths = [path("yaml"), path("toml")];
    Box::new(move |input| {
        let (first, text) = input.split_first().unwrap_or((&b'c', &[]));
        let path = match first {
            b'y' => &paths[0],
            b't' => &paths[1],
            _ => return of(toml::from_str::<WaitingRoomConfig>(&String::from_utf8_lossy(text))),
        };
        fs::write(path, text).expect("the folder for temporary files has space");
        let read = of(WaitingRoomConfig::builder("shop").rate_limits_file(path).build());
        fs::remove_file(path).expect("it was written");
        read
    })
}

/// Reads each input as a page, and shows it: a Mustache page if it begins with `m`, texts in German if it
/// begins with `t`, and a template otherwise.
pub(crate) fn templates() -> Target {
    Box::new(|input| {
        let (first, text) = input.split_first().unwrap_or((&b'j', &[]));
        let text = String::from_utf8_lossy(text);
        let page = match first {
            b'm' => Page::mustache(&text),
            b't' => Ok(Page::default().texts("de", &text)),
            _ => Page::template(&*text),
        };
        let config = page.and_then(|page| room().page(page).build());
        let config = match config {
            Ok(config) => config,
            Err(error) => return error.to_string(),
        };
        let mut sender = Sender::new(&WaitingRoomLayer::new(config));
        sender.send("/", &[]);
        let (outcome, _, body) = sender.send("/", &[("accept", b"text/html".to_vec())]);
        format!("{outcome} {}", body.len().max(1).ilog2())
    })
}

/// Describes a configuration or an error.
fn of<E: std::fmt::Display>(result: Result<WaitingRoomConfig, E>) -> String {
    result.map_or_else(|error| error.to_string(), |_| "read".to_owned())
}
