//! The parsers, with what each of them looks for.

use crate::{
    documents,
    requests::{self, Target},
};

/// A parser.
pub(crate) struct Parser {
    pub(crate) name: &'static str,
    /// Prepares the parser. The result describes the outcome of an input.
    pub(crate) set_up: fn() -> Target,
    /// The parts of an ordinary input of any length: its begin, a part that is repeated, with a number
    /// in place of each `%`, and its end.
    ordinary: [&'static str; 3],
    /// The texts that the parser looks for, with spaces between them.
    pub(crate) words: &'static str,
    pub(crate) bounds: Bounds,
}

/// The maximum length of an input in bytes, and how many times the cost of an ordinary input it may
/// cost.
type Bounds = (usize, f64);

/// A document of the operator. Its cost has to be linear in its length.
const DOCUMENT: Bounds = (64 * 1024, 100.0);
/// Headers as long as Node and Apache read them. They may cost twice the ordinary ones; the rest is for
/// the CPU time, which is not exact.
const HEADERS: Bounds = (16 * 1024, 3.0);

impl Parser {
    /// Returns an ordinary input of about this length.
    pub(crate) fn ordinary(&self, len: usize) -> Vec<u8> {
        let [begin, part, end] = self.ordinary;
        let mut input = begin.to_owned();
        for number in 0.. {
            let part = part.replace('%', &format!("{number}"));
            if input.len() + part.len() + end.len() > len {
                break;
            }
            input.push_str(&part);
        }
        input.push_str(end);
        input.into_bytes()
    }
}

/// All parsers.
pub(crate) const PARSERS: &[Parser] = &[
    Parser {
        name: "accept",
        set_up: requests::accept,
        bounds: HEADERS,
        ordinary: ["text/html;q=0.9,", "application/x%;q=0.5,", "*/*;q=0.1"],
        words: ", ; = \" \\ */* ;q= 0.5 1.000 text/html +json en - * \n zh-Hant application/ grpc-web text/event-stream \t",
    },
    Parser {
        name: "cloudflare",
        set_up: documents::cloudflare,
        bounds: DOCUMENT,
        ordinary: [
            r#"{"waiting_room":{"name":"shop","host":"a.example","total_active_users":300,"new_users_per_minute":200},"rules":["#,
            r##"{"id":"%","action":"bypass_waiting_room","expression":"http.request.uri.path eq \"/%\""},"##,
            r#"{"action":"bypass_waiting_room","expression":"ip.src eq 192.0.2.1"}]}"#,
        ],
        words: "{ } [ ] , : \" \\\" \\u0000 null true -1 1e9 18446744073709551616 eq and or not ( ) lower( http.request.uri.path \
         ip.src in {{# {{/ event_start_time 9999-12-31T23:59:59Z enabled suspended json_response_enabled",
    },
    Parser {
        name: "cookies",
        set_up: requests::cookies,
        bounds: HEADERS,
        ordinary: ["other=1", "; name%=value", ""],
        words: "; = \" , __Host-wr-shop= __Host-wr-shop sid= sid tester= \u{1} \u{2} \u{4}a \n \t wr-shop",
    },
    Parser {
        name: "forwarded",
        set_up: requests::forwarded,
        bounds: HEADERS,
        ordinary: ["192.0.2.1", ", 198.51.100.7", ", 127.0.0.1"],
        words: ", ; = \" \\ [ ] : :: . for= For=\"[ ]\" by= unknown _a 127.0.0.1 127.0.0.1, for=127.0.0.1, 2001:db8::1 ::ffff: \n \t",
    },
    Parser {
        name: "ledger",
        set_up: documents::ledger,
        bounds: DOCUMENT,
        ordinary: ["", "\u{2}\u{1}\0\0\0\0\0\0\0\0", ""],
        words: "\0 \0\0\0\0\0\0\0\0 \u{1} \u{2} \u{3} \u{7f} \n # site 0123456789abcdef",
    },
    Parser {
        name: "links",
        set_up: requests::links,
        bounds: HEADERS,
        ordinary: ["", "a%", "\n__Host-wr-shop=\u{2}"],
        words: "\n \u{1} \u{2} \u{3} \u{4} __Host-wr-shop= A - _ + / == AAAA",
    },
    Parser {
        name: "rules",
        set_up: documents::rules,
        bounds: DOCUMENT,
        ordinary: [
            "ydomain: shop\ndescriptors:\n",
            "  - { key: path, value: /%, rate_limit: { unit: minute, requests_per_unit: 5 } }\n",
            "  - { key: path, value: /, rate_limit: { unlimited: true } }\n",
        ],
        words: "\n - : ? &a *a <<: [ ] { } \" ''' | >- # %YAML !!str --- \t \r \u{feff} ~ -1 1e9 , [[descriptors]] descriptors: \
         key: header.x path_prefix unit a.b.c 0x _ 1979-05-27T07:32:00Z inf 18446744073709551616",
    },
    Parser {
        name: "templates",
        set_up: documents::templates,
        bounds: DOCUMENT,
        ordinary: ["m<p>", "{{#waitTimeKnown}}{{waitTime}} %{{/waitTimeKnown}}\n", "</p>"],
        words: "{{ }} {{# {{^ {{/ {{{ }}} {{! {% %} for i in range(99999) endfor if set a = endif macro m() endmacro | ~ ' \" waitTime \
         waitTimeKnown * 99999 queueAll position headline-waiting $shown $count -> *[other] [one] \n <script>",
    },
    Parser {
        name: "tickets",
        set_up: requests::tickets,
        bounds: HEADERS,
        ordinary: ["other=1", ",other%=2", ""],
        words: ", = ; \" \n shop= other= \u{1} \u{2} \u{3} \u{4} AAAA __Host-wr-shop= \t \\",
    },
];
