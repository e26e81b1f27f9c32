//! The greeting of a stream: the purpose of the client, and the nonces of both sides.

use crate::{
    SiteId,
    escrow::{Incarnation, WIRE_VERSION},
    wire::seal::{Opener, SEAL_LEN, Sealer, SharedKeys},
};

/// The version of the greeting and of all later frames. The version is the first byte of the
/// greeting. A peer with another encoding of the messages is refused because of this number, before
/// it has sent any message.
const VERSION: u8 = WIRE_VERSION;
/// The maximum length of a room's name in bytes.
const MAX_ROOM_LEN: usize = 128;
const NONCE_LEN: usize = 16;

/// The first frame of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) room: String,
    pub(crate) purpose: Purpose,
    pub(crate) nonce: [u8; NONCE_LEN],
}

/// The purpose of a stream. The two purposes have different keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// One order of an operator.
    Operator,
    /// The messages of a site.
    Site { site: SiteId, incarnation: Incarnation },
}

/// The first frame of a ledger: its nonce, which makes the keys of the stream unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ready {
    pub(crate) nonce: [u8; NONCE_LEN],
}

impl Hello {
    /// The greeting, and its seal.
    pub(crate) fn seal(&self, keys: &SharedKeys) -> (Vec<u8>, [u8; SEAL_LEN]) {
        let content = self.encode();
        let seal = keys.seal_hello(&content);
        (content, seal)
    }

    /// If this greeting was sealed with one of the keys for its sender, returns the answer, which
    /// contains the ledger's nonce, and the keys of the stream. `None` if no key opens the
    /// greeting.
    pub(crate) fn open(
        &self,
        content: &[u8],
        seal: &[u8],
        keys: &SharedKeys,
        nonce: [u8; NONCE_LEN],
    ) -> Option<(Ready, Sealer, Opener)> {
        let site = match self.purpose {
            Purpose::Operator => None,
            Purpose::Site { site, .. } => Some(site),
        };
        let key = keys.open_hello(site, content, seal)?;
        let (up, down) = key.derive(content, &nonce);
        Some((Ready { nonce }, Sealer(down), Opener(up)))
    }

    /// The keys of the stream for the client that has sent this greeting.
    pub(crate) fn keys_for(&self, ready: Ready, keys: &SharedKeys) -> (Sealer, Opener) {
        let (up, down) = keys.first().derive(&self.encode(), &ready.nonce);
        (Sealer(up), Opener(down))
    }

    /// Reads a greeting, before its seal is checked.
    ///
    /// # Errors
    ///
    /// Returns a sentence if it is not a greeting of this version.
    pub(crate) fn decode(content: &[u8]) -> Result<Self, String> {
        let malformed = || "the greeting is malformed".to_owned();
        let (&version, rest) = content.split_first().ok_or_else(malformed)?;
        if version != VERSION {
            return Err(format!("the version of the greeting is {version}, expected {VERSION}"));
        }
        let (&kind, rest) = rest.split_first().ok_or_else(malformed)?;
        let (&nonce, rest) = rest.split_first_chunk().ok_or_else(malformed)?;
        let (purpose, room) = match kind {
            0 => (Purpose::Operator, rest),
            1 => {
                let (&site, rest) = rest.split_first_chunk().ok_or_else(malformed)?;
                let (&incarnation, rest) = rest.split_first_chunk().ok_or_else(malformed)?;
                let site = SiteId::new(u16::from_be_bytes(site));
                let incarnation = Incarnation::new(u64::from_be_bytes(incarnation));
                (Purpose::Site { site, incarnation }, rest)
            }
            _ => return Err(malformed()),
        };
        if room.len() > MAX_ROOM_LEN {
            return Err(malformed());
        }
        let room = std::str::from_utf8(room).map_err(|_| malformed())?.to_owned();
        Ok(Self { room, purpose, nonce })
    }

    fn encode(&self) -> Vec<u8> {
        let mut content = vec![VERSION];
        match self.purpose {
            Purpose::Operator => {
                content.push(0);
                content.extend(self.nonce);
            }
            Purpose::Site { site, incarnation } => {
                content.push(1);
                content.extend(self.nonce);
                content.extend(site.number().to_be_bytes());
                content.extend(incarnation.bits().to_be_bytes());
            }
        }
        content.extend(self.room.as_bytes());
        content
    }
}

impl Ready {
    pub(crate) const fn encode(self) -> [u8; NONCE_LEN] {
        self.nonce
    }

    pub(crate) fn decode(content: &[u8]) -> Option<Self> {
        content.try_into().ok().map(|nonce| Self { nonce })
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn keys(digit: &str) -> SharedKeys {
        SharedKeys::parse(&digit.repeat(64)).unwrap()
    }

    proptest! {
        #[test]
        fn a_greeting_round_trips(
            room in "\\PC{0,30}",
            site in proptest::option::of((any::<u16>(), any::<u64>())),
            nonce: [u8; 16],
        ) {
            let purpose = site.map_or(Purpose::Operator, |(site, bits)| Purpose::Site {
                site: SiteId::new(site),
                incarnation: Incarnation::new(bits),
            });
            let hello = Hello { room, purpose, nonce };
            prop_assert_eq!(Hello::decode(&hello.encode()), Ok(hello));
        }

        #[test]
        fn garbage_is_no_greeting_and_no_panic(bytes in vec(any::<u8>(), 0..400)) {
            let _ = Hello::decode(&bytes);
            let _ = Ready::decode(&bytes);
        }
    }

    #[test]
    fn both_sides_derive_the_same_keys_and_a_third_one_does_not() {
        let hello = Hello { room: "shop".into(), purpose: Purpose::Operator, nonce: [1; 16] };
        let (content, seal) = hello.seal(&keys("a"));
        assert!(hello.open(&content, &seal, &keys("b"), [2; 16]).is_none());
        let (ready, mut theirs, mut opener) =
            hello.open(&content, &seal, &keys("a"), [2; 16]).unwrap();
        let (mut sealer, mut ours) = hello.keys_for(ready, &keys("a"));
        assert!(opener.opens(b"up", &sealer.seal(b"up")));
        assert!(ours.opens(b"down", &theirs.seal(b"down")));
    }

    #[test]
    fn a_greeting_of_another_version_is_refused_with_both_versions() {
        let error = Hello::decode(&[7, 0]).unwrap_err();
        assert_eq!(error, "the version of the greeting is 7, expected 2");
    }
}
