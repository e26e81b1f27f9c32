//! Parsers of structured fields (RFC 9651), the format of both headers of draft 11.

use serde_json::{Value, json};
use sfv::{BareItem, List, ListEntry, Parser};
use tests::Visitor;
use tower_waiting_room::{Key, Quota, RateLimit, rate::RateHeaders};

use super::{
    api::{Api, limited},
    clients::{node, python},
};

/// A name may contain any printable character. These are all that are neither letters nor digits;
/// two of them have to be escaped.
const NAME: &str = r##"\"!#$%&'()*+,-./:;<=>?@[]^_`{|}~\"##;

fn serve(profile: RateHeaders) -> Api {
    let odd = RateLimit::new(NAME, Quota::per_minute(10), Key::global());
    Api::open(limited(Quota::per_hour(60)).rate_limit(odd).rate_headers(profile))
}

/// The expected content of both fields of the first response: the names with their parameters.
fn expected(profile: RateHeaders) -> Value {
    let mut binding = json!({"r": 9, "t": 6});
    if profile == RateHeaders::Combined {
        binding = json!({"r": 9, "t": 6, "wr-limit": 10, "wr-remaining": 9, "wr-reset": 6});
    }
    json!([
        [["per_ip", {"q": 60, "w": 3600}], [NAME, {"q": 10, "w": 60}]],
        [["per_ip", {"r": 59, "t": 60}], [NAME, binding]],
    ])
}

const PROFILES: [RateHeaders; 2] = [RateHeaders::Combined, RateHeaders::Draft11Strict];

#[tokio::test]
async fn http_sf_for_python_reads_both_fields() {
    for profile in PROFILES {
        let said = python("with_http_sf.py").arg(serve(profile).url("/")).run().await;
        assert_eq!(serde_json::from_str::<Value>(&said).unwrap(), expected(profile));
    }
}

#[tokio::test]
async fn structured_headers_for_node_reads_both_fields() {
    for profile in PROFILES {
        let said = node("structured_headers.mjs").arg(serve(profile).url("/")).run().await;
        assert_eq!(serde_json::from_str::<Value>(&said).unwrap(), expected(profile));
    }
}

#[tokio::test]
async fn sfv_reads_both_fields() {
    for profile in PROFILES {
        let answer = Visitor::at(&serve(profile).url("")).get("/").await;
        let read = ["ratelimit-policy", "ratelimit"].map(|field| {
            let list: List = Parser::new(answer.header(field).unwrap()).parse().unwrap();
            list.iter().map(member).collect::<Value>()
        });
        assert_eq!(json!(read), expected(profile));
    }
}

fn member(entry: &ListEntry) -> Value {
    let ListEntry::Item(item) = entry else { panic!("not an item: {entry:?}") };
    let parameters = item.params.iter().map(|(key, value)| (key.as_str().to_owned(), bare(value)));
    json!([bare(&item.bare_item), parameters.collect::<Value>()])
}

fn bare(item: &BareItem) -> Value {
    if let BareItem::Integer(number) = item {
        json!(i64::from(*number))
    } else if let BareItem::String(text) = item {
        json!(text.as_str())
    } else {
        panic!("neither an integer nor a string: {item:?}")
    }
}
