//! The messages between sites and ledgers, as a tap on the links reads them.
//!
//! ```text
//!  TCP ─► frames of HTTP/2 ─► the data of each stream ─► frames of the ledgers ─► messages
//! ```
//!
//! The messages are sealed but not encrypted, so they can be read on the way. The tap hears what each
//! end sends, and not only what arrives: a ledger that was replaced must not even say anything.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use cluster::{Direction, Listener, Listeners, Tap};
use waiting_room_ledger::{
    SiteId,
    model::{Minute, ToGlobal, ToSite},
};

/// The messages on all links of a world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wire(Arc<Mutex<Heard>>);

/// The messages so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    /// Those of sites.
    pub(crate) to_ledgers: u64,
    /// Those of sites by which visitors wait for a slot from elsewhere.
    pub(crate) asking: u64,
    /// Those of the ledgers of each room.
    pub(crate) to_sites: BTreeMap<String, Said>,
    /// The minute and the total of tickets that each site that counts has asked for.
    tickets: BTreeMap<SiteId, (Minute, u32)>,
}

/// The messages of the ledgers of a room. Each room has terms of its own, and the two ledgers may hold
/// one each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    /// The newest term.
    pub(crate) newest: u32,
    /// The messages after one of a later term.
    pub(crate) outdated: u64,
}

/// The rooms of the streams of a connection, which the sites name in their greetings.
type Rooms = Arc<Mutex<HashMap<u32, String>>>;

impl Wire {
    /// The messages so far.
    pub(crate) fn heard(&self) -> Heard {
        lock(&self.0).clone()
    }

    /// Hears one direction of a connection.
    fn hears(&self, direction: Direction, rooms: Rooms) -> Listener {
        let wire = self.clone();
        let mut frames = Frames::new(direction);
        Box::new(move |bytes| {
            for Frame { stream, is_greeting, content } in frames.read(bytes) {
                let mut rooms = lock(&rooms);
                match (direction, is_greeting) {
                    (Direction::There, true) => {
                        rooms.extend(room_of(&content).map(|room| (stream, room)));
                    }
                    (Direction::There, false) => lock(&wire.0).note_site(&content),
                    (_, true) => {}
                    (_, false) => {
                        if let Some(room) = rooms.get(&stream) {
                            lock(&wire.0).note_ledger(room, &content);
                        }
                    }
                }
            }
        })
    }
}

impl Tap for Wire {
    fn listen(&self) -> Listeners {
        let rooms = Rooms::default();
        Listeners {
            there: self.hears(Direction::There, Arc::clone(&rooms)),
            back: self.hears(Direction::Back, rooms),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The room that a site names in its greeting.
fn room_of(greeting: &[u8]) -> Option<String> {
    let room = greeting.get(ROOM_AT..)?;
    Some(String::from_utf8_lossy(room).into_owned())
}

impl Heard {
    /// The messages of ledgers, in all rooms, after one of a later term in the same room.
    pub(crate) fn outdated(&self) -> u64 {
        self.to_sites.values().map(|said| said.outdated).sum()
    }

    /// Counts the content of a frame of a site, if it is a message.
    fn note_site(&mut self, content: &[u8]) {
        if let Ok(message) = ToGlobal::decode(content) {
            self.to_ledgers += 1;
            self.asking += u64::from(self.asks(&message));
        }
    }

    /// Counts the content of a frame of a ledger of this room, if it is a message.
    fn note_ledger(&mut self, room: &str, content: &[u8]) {
        let Ok(message) = ToSite::decode(content) else { return };
        let said = self.to_sites.entry(room.to_owned()).or_default();
        let term = message.term();
        said.outdated += u64::from(term.number() < said.newest);
        said.newest = said.newest.max(term.number());
    }

    /// Returns whether visitors wait for the answer to a message.
    fn asks(&mut self, message: &ToGlobal) -> bool {
        match message {
            ToGlobal::Claim { heartbeat, .. } | ToGlobal::Heartbeat(heartbeat) => {
                heartbeat.want > 0
            }
            ToGlobal::Tally(tally) => {
                // The total includes the tickets that the site has.
                let wants = (tally.draw.minute, tally.draw.total);
                let wanted = self.tickets.insert(tally.site, wants);
                let had =
                    wanted.filter(|(minute, _)| *minute == wants.0).map_or(0, |wanted| wanted.1);
                wants.1 > had
            }
            ToGlobal::Join(_) | _ => false,
        }
    }
}

/// Reads one direction of a connection.
#[derive(Debug)]
struct Frames {
    /// The bytes of the preface that are still to come.
    preface: usize,
    /// An incomplete frame of HTTP/2.
    buffer: Vec<u8>,
    streams: HashMap<u32, Stream>,
}

/// A frame of the ledgers.
#[derive(Debug)]
struct Frame {
    /// The stream of its connection.
    stream: u32,
    /// Whether it is the first one of its stream and direction.
    is_greeting: bool,
    content: Vec<u8>,
}

/// The data of one stream.
#[derive(Clone, Debug, Default)]
struct Stream {
    /// Whether the greeting is over, which is the first frame.
    is_greeted: bool,
    /// Whether it has no frames, because it was refused.
    is_refused: bool,
    /// An incomplete frame of the ledgers.
    buffer: Vec<u8>,
}

impl Frames {
    fn new(direction: Direction) -> Self {
        let preface = if direction == Direction::There { PREFACE_LEN } else { 0 };
        Self { preface, buffer: Vec::new(), streams: HashMap::new() }
    }

    /// Reads on. Returns the frames that are complete by now.
    fn read(&mut self, bytes: &[u8]) -> Vec<Frame> {
        let skipped = self.preface.min(bytes.len());
        self.preface -= skipped;
        self.buffer.extend_from_slice(&bytes[skipped..]);
        let mut frames = Vec::new();
        while let Some((head, rest)) = self.buffer.split_first_chunk::<HEAD_LEN>() {
            let [a, b, c, kind, flags, w, x, y, z] = *head;
            let len = u32::from_be_bytes([0, a, b, c]) as usize;
            let Some(payload) = rest.get(..len) else { break };
            let stream = u32::from_be_bytes([w, x, y, z]);
            if kind == DATA {
                frames.extend(self.take_data(stream, &unpadded(flags, payload)));
            }
            self.buffer.drain(..HEAD_LEN + len);
        }
        frames
    }

    /// Reads on in a stream. Returns the frames that are complete by now.
    fn take_data(&mut self, number: u32, data: &[u8]) -> Vec<Frame> {
        let stream = self.streams.entry(number).or_default();
        let mut frames = Vec::new();
        if stream.is_refused {
            return frames;
        }
        stream.buffer.extend_from_slice(data);
        while let Some((len, rest)) = stream.buffer.split_first_chunk::<LEN_LEN>() {
            let len = usize::from(u16::from_be_bytes(*len));
            // A refusal is a sentence without frames, and no length begins with a letter.
            stream.is_refused = len > MAX_LEN;
            let Some(content) = rest.get(..len).filter(|_| rest.len() >= len + SEAL_LEN) else {
                break;
            };
            let content = content.to_vec();
            let is_greeting = !std::mem::replace(&mut stream.is_greeted, true);
            frames.push(Frame { stream: number, is_greeting, content });
            stream.buffer.drain(..LEN_LEN + len + SEAL_LEN);
        }
        frames
    }
}

/// The payload of a data frame without its padding (RFC 9113 section 6.1).
fn unpadded(flags: u8, payload: &[u8]) -> Vec<u8> {
    let unpadded = match payload.split_first() {
        Some((padding, rest)) if flags & PADDED != 0 => {
            rest.get(..rest.len().saturating_sub(usize::from(*padding)))
        }
        _ => Some(payload),
    };
    unpadded.unwrap_or_default().to_vec()
}

/// The preface of a client (RFC 9113 section 3.4).
const PREFACE_LEN: usize = 24;
/// The head of a frame (RFC 9113 section 4.1), and what is read of it.
const HEAD_LEN: usize = 9;
const DATA: u8 = 0;
const PADDED: u8 = 8;
/// A frame of the ledgers: its length, its content and its seal.
const LEN_LEN: usize = 2;
const SEAL_LEN: usize = 16;
const MAX_LEN: usize = 16 * 1024;
/// The room in the greeting of a site, after the version, the purpose, a nonce, the site and its
/// incarnation.
const ROOM_AT: usize = 1 + 1 + 16 + 2 + 8;

#[cfg(test)]
mod tests {
    use tower_waiting_room::time::Timestamp;
    use waiting_room_ledger::{
        EscrowRules,
        model::{Epoch, Heartbeat, Incarnation, LineFront, RulesDigest, Term},
    };

    use super::*;

    fn heartbeat(want: u64) -> Vec<u8> {
        let heartbeat = Heartbeat {
            site: SiteId::new(1),
            incarnation: Incarnation::new(7),
            term: Term::new(3),
            epoch: Epoch::new(Term::new(3), 1),
            sent_at: Timestamp::from_secs(9),
            lease_end: Timestamp::from_secs(20),
            rules: RulesDigest::of(&EscrowRules::new()),
            granted: 5,
            returned: 0,
            used: 5,
            want,
            demand: 0,
            front: LineFront::new(),
        };
        ToGlobal::Heartbeat(heartbeat).encode()
    }

    /// A frame of the ledgers.
    fn sealed(content: &[u8]) -> Vec<u8> {
        let len = u16::try_from(content.len()).unwrap().to_be_bytes();
        [&len, content, &[0; SEAL_LEN]].concat()
    }

    /// A frame of HTTP/2 on stream 1.
    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let len = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&len[1..], &[kind, flags, 0, 0, 0, 1], payload].concat()
    }

    #[test]
    fn messages_are_counted_however_their_bytes_are_cut() {
        let data: Vec<u8> =
            [b"greeting".as_slice(), b"", &heartbeat(0), &heartbeat(2)].map(sealed).concat();
        let (first, second) = data.split_at(data.len() / 2);
        let padded = [&[3], second, &[0; 3]].concat();
        let sent = [
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
            frame(1, 4, b"headers"),
            frame(DATA, 0, first),
            frame(8, 0, &[0; 4]),
            frame(DATA, PADDED, &padded),
        ]
        .concat();
        for cut in 0..=sent.len() {
            let wire = Wire::default();
            let Listeners { mut there, .. } = wire.listen();
            there(&sent[..cut]);
            there(&sent[cut..]);
            let Heard { to_ledgers, asking, .. } = wire.heard();
            assert_eq!((to_ledgers, asking), (2, 1), "cut at {cut}");
        }
    }

    /// Hears the stream of a site of this room, and on it the ledger with reports of these terms.
    fn hear(wire: &Wire, room: &str, terms: &[u32]) {
        let Listeners { mut there, mut back } = wire.listen();
        let greeting = sealed(&[&[1; ROOM_AT], room.as_bytes()].concat());
        there(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        there(&frame(DATA, 0, &greeting));
        let report = |term: &u32| sealed(&ToSite::Report { term: Term::new(*term) }.encode());
        let said: Vec<u8> = terms.iter().flat_map(report).collect();
        back(&frame(DATA, 0, &[sealed(&[9; 16]), said].concat()));
    }

    #[test]
    fn a_term_is_outdated_only_by_a_later_one_of_the_same_room() {
        let wire = Wire::default();
        hear(&wire, "shop", &[1, 3, 4]);
        hear(&wire, "minute", &[1, 2]);
        assert_eq!(wire.heard().outdated(), 0);
        hear(&wire, "shop", &[4, 3, 5, 4]);
        let heard = wire.heard();
        assert_eq!(heard.to_sites["shop"], Said { newest: 5, outdated: 2 });
        assert_eq!(heard.to_sites["minute"], Said { newest: 2, outdated: 0 });
        assert_eq!((heard.outdated(), heard.to_ledgers), (2, 0));
    }

    #[test]
    fn a_refusal_is_no_message() {
        let wire = Wire::default();
        let Listeners { mut back, .. } = wire.listen();
        back(&frame(DATA, 0, b"this ledger does not hold the room"));
        back(&frame(DATA, 0, &sealed(&ToSite::Report { term: Term::new(3) }.encode())));
        assert_eq!(wire.heard(), Heard::default());
    }
}
