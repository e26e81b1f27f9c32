//! What sites and ledgers say to each other, as a tap on the links hears it.
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

use cluster::{Direction, Tap};
use waiting_room_sites::{
    Minute, SiteId,
    escrow::{ToGlobal, ToSite},
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
    /// Those of the ledgers, by their term.
    pub(crate) to_sites: BTreeMap<u32, u64>,
    /// The minute and the total of tickets that each site that counts has asked for.
    tickets: BTreeMap<SiteId, (Minute, u32)>,
}

impl Wire {
    /// The messages so far.
    pub(crate) fn heard(&self) -> Heard {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tap for Wire {
    fn listen(&self, direction: Direction) -> Box<dyn FnMut(&[u8]) + Send> {
        let (wire, mut frames) = (self.clone(), Frames::new(direction));
        Box::new(move |bytes| {
            for content in frames.read(bytes) {
                wire.lock().note(direction, &content);
            }
        })
    }
}

impl Heard {
    /// The messages of ledgers in this term and before it.
    pub(crate) fn up_to(&self, term: u32) -> u64 {
        self.to_sites.range(..=term).map(|(_, count)| count).sum()
    }

    /// Counts the content of a frame, if it is a message. Greetings are not.
    fn note(&mut self, direction: Direction, content: &[u8]) {
        match direction {
            Direction::Back => {
                if let Ok(message) = ToSite::decode(content) {
                    *self.to_sites.entry(message.term().number()).or_default() += 1;
                }
            }
            Direction::There => {
                if let Ok(message) = ToGlobal::decode(content) {
                    self.to_ledgers += 1;
                    self.asking += u64::from(self.asks(&message));
                }
            }
            _ => {}
        }
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
                let had = wanted.filter(|(minute, _)| *minute == wants.0).map_or(0, |it| it.1);
                wants.1 > had
            }
            _ => false,
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

    /// Reads on. Returns the contents of the frames that are complete by now.
    fn read(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let skipped = self.preface.min(bytes.len());
        self.preface -= skipped;
        self.buffer.extend_from_slice(&bytes[skipped..]);
        let mut contents = Vec::new();
        while let Some((head, rest)) = self.buffer.split_first_chunk::<HEAD_LEN>() {
            let [a, b, c, kind, flags, w, x, y, z] = *head;
            let len = u32::from_be_bytes([0, a, b, c]) as usize;
            let Some(payload) = rest.get(..len) else { break };
            let stream = u32::from_be_bytes([w, x, y, z]);
            if kind == DATA {
                contents.extend(self.take_data(stream, &unpadded(flags, payload)));
            }
            self.buffer.drain(..HEAD_LEN + len);
        }
        contents
    }

    /// Reads on in a stream. Returns the contents of the frames that are complete by now.
    fn take_data(&mut self, stream: u32, data: &[u8]) -> Vec<Vec<u8>> {
        let stream = self.streams.entry(stream).or_default();
        let mut contents = Vec::new();
        if stream.is_refused {
            return contents;
        }
        stream.buffer.extend_from_slice(data);
        while let Some((len, rest)) = stream.buffer.split_first_chunk::<LEN_LEN>() {
            let len = usize::from(u16::from_be_bytes(*len));
            // A refusal is a sentence without frames, and no length begins with a letter.
            stream.is_refused = len > MAX_LEN;
            let Some(content) = rest.get(..len).filter(|_| rest.len() >= len + SEAL_LEN) else {
                break;
            };
            if std::mem::replace(&mut stream.is_greeted, true) {
                contents.push(content.to_vec());
            }
            stream.buffer.drain(..LEN_LEN + len + SEAL_LEN);
        }
        contents
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

#[cfg(test)]
mod tests {
    use tower_waiting_room::time::Timestamp;
    use waiting_room_sites::escrow::{Epoch, EscrowRules, Heartbeat, Incarnation, LineFront, Term};

    use super::*;

    fn heartbeat(want: u64) -> Vec<u8> {
        let heartbeat = Heartbeat {
            site: SiteId::new(1),
            incarnation: Incarnation::new(7),
            term: Term::new(3),
            epoch: Epoch::new(Term::new(3), 1),
            sent_at: Timestamp::from_secs(9),
            lease_end: Timestamp::from_secs(20),
            rules: EscrowRules::new().digest(),
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
            let mut listener = wire.listen(Direction::There);
            listener(&sent[..cut]);
            listener(&sent[cut..]);
            let Heard { to_ledgers, asking, .. } = wire.heard();
            assert_eq!((to_ledgers, asking), (2, 1), "cut at {cut}");
        }
    }

    #[test]
    fn messages_of_ledgers_are_counted_by_their_term() {
        let wire = Wire::default();
        let mut listener = wire.listen(Direction::Back);
        let report = |term| ToSite::Report { term: Term::new(term) }.encode();
        let data = [vec![9; 16], report(3), report(4), report(4)].map(|it| sealed(&it)).concat();
        listener(&frame(DATA, 0, &data));
        let heard = wire.heard();
        assert_eq!([2, 3, 4].map(|term| heard.up_to(term)), [0, 1, 3]);
        assert_eq!(heard.to_ledgers, 0);
    }

    #[test]
    fn a_refusal_is_no_message() {
        let wire = Wire::default();
        let mut listener = wire.listen(Direction::Back);
        listener(&frame(DATA, 0, b"this ledger does not hold the room"));
        listener(&frame(DATA, 0, &sealed(&ToSite::Report { term: Term::new(3) }.encode())));
        assert_eq!(wire.heard(), Heard::default());
    }
}
