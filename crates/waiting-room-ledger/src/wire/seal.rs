//! Shared keys, and the seals of frames.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fmt,
    path::Path,
    sync::Arc,
};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::SiteId;

/// The bytes of a key.
const KEY_LEN: usize = 32;
/// The bytes of a seal: half of an HMAC-SHA-256 (RFC 2104, section 5).
pub(super) const SEAL_LEN: usize = 16;
/// The maximum number of keys that open the greeting of one site: those of all sites, and its own.
const MAX_KEYS: usize = 8;

/// The keys that sites and ledgers share: the first one seals, and all of them open.
///
/// A key can belong to one site. It then opens the streams of that site only, so a host with that
/// key cannot speak as another site. Keys without a site open the streams of all sites, and those
/// of operators.
///
/// To replace a key, add the new one to the ledgers as the second line, then replace it at the
/// sites, then remove the old one.
#[derive(Clone)]
pub struct SharedKeys(Arc<[OneKey]>);

/// A key, and the site that it belongs to, if any.
#[derive(Clone, Copy)]
struct OneKey {
    site: Option<SiteId>,
    bytes: [u8; KEY_LEN],
}

/// The reason why no keys can be read from a text. It never contains the text.
#[non_exhaustive]
pub enum KeyError {
    /// There is no key, or there are too many for one site.
    Count {
        /// The number of keys.
        given: usize,
    },
    /// Sites and operators have a key in common.
    InBoth {
        /// The path of the sites file.
        sites: String,
        /// The path of the operators file.
        operators: String,
    },
    /// A line is not a key.
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// The number of characters in the line.
        length: usize,
    },
    /// The file of operators has a key that belongs to a site, and would open nothing.
    OfSite {
        /// Its path.
        path: String,
        /// The site.
        site: SiteId,
    },
    /// The file cannot be read.
    Read {
        /// Its path.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// A key is on two lines. If each line is for one site, each site could speak as the other
    /// site.
    Repeated {
        /// The number of the second line, from 1.
        line: usize,
    },
}

impl SharedKeys {
    /// Reads the keys from a text with one key a line, each 64 hexadecimal digits, as `openssl rand
    /// -hex 32` prints them. The number of a site and a space before a key make it a key of this
    /// site.
    ///
    /// ```
    /// use waiting_room_ledger::SharedKeys;
    ///
    /// let [paris, tokyo] = ["1a", "2b"].map(|digits| digits.repeat(32));
    /// SharedKeys::parse(&format!("1 {paris}\n2 {tokyo}\n"))?;
    /// let error = SharedKeys::parse(&format!("1 {paris}\n2 {paris}\n")).unwrap_err();
    /// assert_eq!(error.to_string(), "line 2 repeats the key of an earlier line, expected a different key");
    /// # Ok::<(), waiting_room_ledger::KeyError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error with the number of the first line that is not a key or repeats an earlier
    /// one, or with the number of keys for one site, if there are too many.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let mut keys = Vec::new();
        let mut seen = BTreeSet::new();
        let mut counts = BTreeMap::<_, usize>::new();
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let malformed = KeyError::Line { line, length: text.chars().count() };
            let key = OneKey::parse(text).ok_or(malformed)?;
            if !seen.insert(key.bytes) {
                return Err(KeyError::Repeated { line });
            }
            *counts.entry(key.site).or_default() += 1;
            keys.push(key);
        }
        let of_all = counts.remove(&None).unwrap_or(0);
        let given = of_all + counts.values().max().copied().unwrap_or(0);
        match given {
            1..=MAX_KEYS => Ok(Self(keys.into())),
            given => Err(KeyError::Count { given }),
        }
    }

    /// Reads the keys from a file.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`parse`](Self::parse), and an error if the file cannot be read.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| KeyError::Read { path: path.display().to_string(), source })?;
        Self::parse(&text)
    }

    /// The first site that has a key of its own.
    pub(crate) fn first_site(&self) -> Option<SiteId> {
        self.0.iter().find_map(|key| key.site)
    }

    /// Returns whether any of these keys is one of the others.
    pub(crate) fn overlaps(&self, others: &Self) -> bool {
        let theirs = |key: &OneKey| others.0.iter().any(|other| other.bytes == key.bytes);
        self.0.iter().any(theirs)
    }

    /// Seals the greeting of a stream.
    pub(super) fn seal_hello(&self, content: &[u8]) -> [u8; SEAL_LEN] {
        // There is at least one key.
        truncated(hello_mac(&self.first().0, content))
    }

    /// Finds the key with which the greeting of a site, or of an operator, was sealed.
    pub(super) fn open_hello(
        &self,
        site: Option<SiteId>,
        content: &[u8],
        seal: &[u8],
    ) -> Option<StreamKey> {
        self.0
            .iter()
            .filter(|key| key.site.is_none() || key.site == site)
            .find(|key| hello_mac(&key.bytes, content).verify_truncated_left(seal).is_ok())
            .map(|key| StreamKey(key.bytes))
    }

    /// The key that seals.
    pub(super) fn first(&self) -> StreamKey {
        StreamKey(self.0.first().map(|key| key.bytes).unwrap_or_default())
    }
}

impl fmt::Debug for SharedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedKeys({})", self.0.len())
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { given } => {
                write!(f, "keys is {given}, expected 1 to {MAX_KEYS} that open for one site")
            }
            Self::InBoth { sites, operators } => write!(
                f,
                "key files {sites} and {operators} have a key in common, expected none, because sites \
                 could give the orders of operators"
            ),
            Self::Line { line, length } => write!(
                f,
                "line {line} has {length} characters, expected a key of 64 hexadecimal digits, or the \
                 number of a site and one"
            ),
            Self::OfSite { path, site } => write!(
                f,
                "key file {path} has a key of site {}, expected keys of operators only",
                site.number()
            ),
            Self::Read { path, source } => write!(f, "key file {path}: {source}"),
            Self::Repeated { line } => {
                write!(
                    f,
                    "line {line} repeats the key of an earlier line, expected a different key"
                )
            }
        }
    }
}

/// Formats the message, because a program whose `main` returns the error prints this form.
impl fmt::Debug for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for KeyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Read { source, .. } => Some(source),
            Self::Count { .. }
            | Self::InBoth { .. }
            | Self::Line { .. }
            | Self::OfSite { .. }
            | Self::Repeated { .. } => None,
        }
    }
}

/// The key of one greeting, from which the keys of its stream are derived.
#[derive(Clone)]
pub(super) struct StreamKey([u8; KEY_LEN]);

impl StreamKey {
    /// The keys for the frames from the site and for the frames to the site, after the greeting
    /// `hello` was answered with `nonce`.
    pub(super) fn derive(&self, hello: &[u8], nonce: &[u8]) -> (Numbered, Numbered) {
        let direction = |label: &[u8]| {
            let mut mac = mac(&self.0);
            mac.update(label);
            mac.update(nonce);
            mac.update(hello);
            Numbered { key: mac.finalize().into_bytes().into(), next: 0 }
        };
        (direction(b"waiting-room-ledger 1 up"), direction(b"waiting-room-ledger 1 down"))
    }
}

/// The key for one direction of a stream, and the number of the next frame.
#[derive(Clone)]
pub(super) struct Numbered {
    key: [u8; KEY_LEN],
    next: u64,
}

impl Numbered {
    fn mac(&mut self, content: &[u8]) -> Hmac<Sha256> {
        let mut mac = mac(&self.key);
        mac.update(&self.next.to_be_bytes());
        mac.update(content);
        self.next = self.next.wrapping_add(1);
        mac
    }
}

/// Seals the frames that this side sends.
pub(crate) struct Sealer(pub(super) Numbered);

impl Sealer {
    pub(crate) fn seal(&mut self, content: &[u8]) -> [u8; SEAL_LEN] {
        truncated(self.0.mac(content))
    }
}

/// Checks the seals of the frames that this side receives.
pub(crate) struct Opener(pub(super) Numbered);

impl Opener {
    /// Returns whether the seal is valid for the next frame.
    pub(crate) fn opens(&mut self, content: &[u8], seal: &[u8]) -> bool {
        self.0.mac(content).verify_truncated_left(seal).is_ok()
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealer(next: {})", self.0.next)
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opener(next: {})", self.0.next)
    }
}

/// Random bytes that make the keys of a stream unique.
///
/// # Errors
///
/// Returns an error if the operating system has no randomness.
pub(crate) fn nonce() -> Result<[u8; 16], std::io::Error> {
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce).map_err(std::io::Error::other)?;
    Ok(nonce)
}

fn hello_mac(key: &[u8; KEY_LEN], content: &[u8]) -> Hmac<Sha256> {
    let mut mac = mac(key);
    mac.update(b"waiting-room-ledger 1 hello");
    mac.update(content);
    mac
}

fn mac(key: &[u8; KEY_LEN]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes keys of any length")
}

fn truncated(mac: Hmac<Sha256>) -> [u8; SEAL_LEN] {
    let full: [u8; 32] = mac.finalize().into_bytes().into();
    let mut seal = [0; SEAL_LEN];
    seal.copy_from_slice(&full[..SEAL_LEN]);
    seal
}

impl OneKey {
    /// Reads a line.
    fn parse(line: &str) -> Option<Self> {
        let (site, key) = match line.split_once(char::is_whitespace) {
            Some((site, key)) => (Some(SiteId::new(site.parse().ok()?)), key.trim_start()),
            None => (None, line),
        };
        parse_key(key).map(|bytes| Self { site, bytes })
    }
}

/// Reads a key; `None` if it is not 64 hexadecimal digits.
fn parse_key(text: &str) -> Option<[u8; KEY_LEN]> {
    let digits: Vec<_> = text.chars().map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    if digits.len() != 2 * KEY_LEN {
        return None;
    }
    let mut key = [0; KEY_LEN];
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::try_from(pair[0] << 4 | pair[1]).ok()?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(digit: char) -> String {
        digit.to_string().repeat(64)
    }

    #[test]
    fn the_first_key_seals_and_all_keys_open() {
        let old = SharedKeys::parse(&keys('a')).unwrap();
        let both = SharedKeys::parse(&format!("# ours\n{}\n\n{}\n", keys('b'), keys('a'))).unwrap();
        assert!(both.open_hello(None, b"hello", &old.seal_hello(b"hello")).is_some());
        assert!(old.open_hello(None, b"hello", &both.seal_hello(b"hello")).is_none());
        assert!(old.open_hello(None, b"hallo", &old.seal_hello(b"hello")).is_none());
    }

    #[test]
    fn the_key_of_a_site_opens_for_that_site_only() {
        let ledger = format!("{}\n1 {}\n2 {}\n", keys('a'), keys('b'), keys('c'));
        let ledger = SharedKeys::parse(&ledger).unwrap();
        // A site may have its line of the ledger's file, or the key alone.
        for paris in [keys('b'), format!("1 {}", keys('b'))] {
            let paris = SharedKeys::parse(&paris).unwrap().seal_hello(b"hello");
            for (site, opens) in [(Some(1), true), (Some(2), false), (None, false)] {
                let opened = ledger.open_hello(site.map(SiteId::new), b"hello", &paris);
                assert_eq!(opened.is_some(), opens, "{site:?}");
            }
        }
        let any = SharedKeys::parse(&keys('a')).unwrap().seal_hello(b"hello");
        for site in [Some(SiteId::new(1)), Some(SiteId::new(2)), None] {
            assert!(ledger.open_hello(site, b"hello", &any).is_some(), "{site:?}");
        }
    }

    #[test]
    fn a_seal_counts_once_in_its_order_and_direction() {
        let keys = SharedKeys::parse(&keys('a')).unwrap();
        let (up, down) = keys.first().derive(b"hello", b"nonce");
        let mut sealer = Sealer(up.clone());
        let mut opener = Opener(up.clone());
        let first = sealer.seal(b"one");
        let second = sealer.seal(b"two");
        assert!(opener.opens(b"one", &first), "in order");
        assert!(!Opener(up.clone()).opens(b"two", &second), "left out");
        assert!(!opener.opens(b"one", &first), "repeated");
        assert!(!Opener(down).opens(b"one", &first), "sent back");
        let (other, _) = keys.first().derive(b"hello", b"other");
        assert!(!Opener(other).opens(b"one", &first), "from another stream");
    }

    #[test]
    fn a_file_that_is_not_made_of_keys_is_refused_without_showing_it() {
        let error = SharedKeys::parse("# mine\nsecret\n").unwrap_err().to_string();
        assert_eq!(
            error,
            "line 2 has 6 characters, expected a key of 64 hexadecimal digits, or the \
                        number of a site and one"
        );
        let error = SharedKeys::parse("\n").unwrap_err().to_string();
        assert_eq!(error, "keys is 0, expected 1 to 8 that open for one site");
        let nine: String = ('1'..='9').map(|digit| keys(digit) + "\n").collect();
        let error = SharedKeys::parse(&nine).unwrap_err().to_string();
        assert_eq!(error, "keys is 9, expected 1 to 8 that open for one site");
        let nine: String = ('1'..='9').map(|digit| format!("7 {}\n", keys(digit))).collect();
        assert!(SharedKeys::parse(&nine).is_err());
        let all = |digit| format!("{digit} {}\n", keys(digit));
        let nine: String = ('1'..='9').map(all).collect();
        assert_eq!(SharedKeys::parse(&nine).unwrap().0.len(), 9, "one for each of nine sites");
        let error = SharedKeys::parse(&format!("65536 {}", keys('a'))).unwrap_err().to_string();
        assert!(error.starts_with("line 1 has 70 characters, expected a key"), "{error}");
        let error = SharedKeys::read(Path::new("/nonexistent/key")).unwrap_err().to_string();
        assert!(error.starts_with("key file /nonexistent/key: "), "{error}");
        let shown = format!("{:?}", SharedKeys::parse(&keys('a')).unwrap());
        assert_eq!(shown, "SharedKeys(1)");
    }
}
