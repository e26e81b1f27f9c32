//! A search that continues where it ended: its inputs, its executions, and what it has found.

use std::{
    collections::{HashMap, HashSet},
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use anyhow::{Context, Result};
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};
use rustix::time::{ClockId, clock_gettime};

use crate::{mutation::mutate, parsers::Parser, requests::Target};

/// A search in the input of one parser.
pub(crate) struct Campaign<'a> {
    parser: &'a Parser,
    folder: PathBuf,
    target: Target,
    corpus: Vec<Vec<u8>>,
    /// The hashes of all outcomes.
    outcomes: HashSet<u64>,
    executions: u64,
    panics: usize,
    /// The dearest input, and its cost as a multiple of that of an ordinary one.
    dearest: (f64, Vec<u8>),
    /// The cost of ordinary inputs by length.
    ordinary: HashMap<usize, Duration>,
    /// The input that is read, and the time at which that began, for the watch.
    current: Arc<Mutex<(Duration, Vec<u8>)>>,
}

impl<'a> Campaign<'a> {
    /// The most inputs that are kept.
    const MAX_CORPUS: usize = 512;
    /// The number of executions after which the parser is prepared anew, so that no state of it grows.
    const PREPARED_FOR: u64 = 1 << 16;
    /// The time after which an input that is still read counts as a hang.
    const HANG: Duration = Duration::from_secs(20);
    /// The shortest time for which a difference in cost is believed.
    const SHORTEST: Duration = Duration::from_micros(20);

    /// Continues the search in a folder.
    pub(crate) fn open(parser: &'a Parser, folder: &Path) -> Result<Self> {
        for part in ["corpus", "panics"] {
            fs::create_dir_all(folder.join(part))?;
        }
        let mut corpus = committed(parser)?;
        corpus.extend(inputs_in(&folder.join("corpus"))?);
        let executions = fs::read_to_string(folder.join("executions")).unwrap_or_default();
        let mut campaign = Self {
            parser,
            folder: folder.to_owned(),
            target: (parser.set_up)(),
            corpus: Vec::new(),
            outcomes: HashSet::new(),
            executions: executions.trim().parse().unwrap_or(0),
            panics: fs::read_dir(folder.join("panics"))?.count(),
            dearest: (0.0, Vec::new()),
            ordinary: HashMap::new(),
            current: Arc::default(),
        };
        let dearest = fs::read(folder.join("dearest")).ok();
        for input in corpus.into_iter().chain(dearest) {
            campaign.execute(&input)?;
        }
        Ok(campaign)
    }

    /// Searches for this long.
    pub(crate) fn run(&mut self, minutes: u32, seed: u64) -> Result<()> {
        panic::set_hook(Box::new(|_| {}));
        self.watch();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let end = now() + Duration::from_secs(60) * minutes;
        let begin = self.executions;
        let words: Vec<&str> = self.parser.words.split(' ').collect();
        while now() < end {
            let corpus = &self.corpus;
            let mut input = corpus[random.random_range(0..corpus.len())].clone();
            let other = &corpus[random.random_range(0..corpus.len())];
            mutate(&mut input, other, &words, self.parser.bounds.0, &mut random);
            self.execute(&input)?;
            if (self.executions - begin).is_multiple_of(Self::PREPARED_FOR) {
                self.target = (self.parser.set_up)();
                self.save()?;
            }
        }
        drop(panic::take_hook());
        self.save()
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.panics > 0 || self.dearest.0 > self.parser.bounds.1
    }

    pub(crate) fn report(&self) -> String {
        let (ratio, input) = &self.dearest;
        let shown: String =
            input.iter().take(100).map(|byte| byte.escape_ascii().to_string()).collect();
        format!(
            "{}: {} executions, {} panics, {} inputs; the dearest costs {ratio:.1} times an ordinary one of the \
             same length (at most {}): {} bytes, {shown}\n",
            self.parser.name,
            self.executions,
            self.panics,
            self.corpus.len(),
            self.parser.bounds.1,
            input.len(),
        )
    }

    /// Reads an input, and keeps it if its outcome is new, if it is the dearest, or if it causes a panic.
    fn execute(&mut self, input: &[u8]) -> Result<()> {
        self.executions += 1;
        *self.current.lock().expect("no one panics while holding it") = (now(), input.to_vec());
        let begin = cpu_time();
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| (self.target)(input)));
        let spent = cpu_time().saturating_sub(begin);
        self.current.lock().expect("no one panics while holding it").0 = Duration::MAX;
        let Ok(outcome) = outcome else {
            self.panics += 1;
            fs::write(self.folder.join("panics").join(name(input)), input)?;
            self.target = (self.parser.set_up)();
            return Ok(());
        };
        let ratio = self.ratio(input, spent);
        if ratio > self.dearest.0 {
            self.dearest = (ratio, input.to_vec());
            fs::write(self.folder.join("dearest"), input)?;
            self.keep(input)?;
        }
        if self.corpus.len() < Self::MAX_CORPUS && self.outcomes.insert(class_of(&outcome)) {
            self.keep(input)?;
        }
        Ok(())
    }

    fn keep(&mut self, input: &[u8]) -> Result<()> {
        self.corpus.push(input.to_vec());
        Ok(fs::write(self.folder.join("corpus").join(name(input)), input)?)
    }

    /// The cost of an input as a multiple of that of an ordinary one. A cost that would be the greatest is
    /// measured again, since other programs disturb a measurement.
    fn ratio(&mut self, input: &[u8], spent: Duration) -> f64 {
        let len = input.len().next_multiple_of(input.len().max(64).next_power_of_two() / 8);
        let measure = || least(&mut self.target, &self.parser.ordinary(len), 9);
        let ordinary = *self.ordinary.entry(len).or_insert_with(measure);
        let of = |spent: Duration| spent.as_secs_f64() / ordinary.max(Self::SHORTEST).as_secs_f64();
        if of(spent) <= self.dearest.0 {
            0.0
        } else {
            of(least(&mut self.target, input, 9).min(spent))
        }
    }

    fn save(&self) -> Result<()> {
        fs::write(self.folder.join("executions"), self.executions.to_string())?;
        Ok(())
    }

    /// Ends the program if an input is read for too long.
    fn watch(&self) {
        let current = Arc::clone(&self.current);
        let path = self.folder.join("panics").join("hang");
        thread::spawn(move || {
            loop {
                thread::park_timeout(Self::HANG / 4);
                let current = current.lock().expect("no one panics while holding it");
                if now() > current.0.saturating_add(Self::HANG) {
                    let kept = fs::write(&path, &current.1);
                    eprintln!("an input is read for too long: {} ({kept:?})", path.display());
                    std::process::abort();
                }
            }
        });
    }
}

/// The committed inputs of a parser.
pub(crate) fn committed(parser: &Parser) -> Result<Vec<Vec<u8>>> {
    inputs_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(parser.name))
}

/// Returns a seed that differs from run to run.
pub(crate) fn fresh_seed() -> u64 {
    now().subsec_nanos().into()
}

fn inputs_in(folder: &Path) -> Result<Vec<Vec<u8>>> {
    let files = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = files.map(|file| Ok(file?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    paths.into_iter().map(|path| Ok(fs::read(path)?)).collect()
}

/// The least CPU time of a few executions.
fn least(target: &mut Target, input: &[u8], times: u32) -> Duration {
    let time = |_| {
        let begin = cpu_time();
        target(input);
        cpu_time().saturating_sub(begin)
    };
    (0..times).map(time).min().unwrap_or_default()
}

/// The class of an outcome: its text without numbers and without what is quoted from the input.
fn class_of(outcome: &str) -> u64 {
    let unquoted = outcome.split(['"', '`', '\'']).step_by(2);
    let letters = unquoted.flat_map(str::chars).filter(|char| char.is_ascii_alphabetic());
    hash(&letters.take(200).collect::<String>())
}

fn name(input: &[u8]) -> String {
    format!("{:016x}", hash(input))
}

fn hash<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn cpu_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

fn now() -> Duration {
    clock_gettime(ClockId::Monotonic).try_into().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parsers::PARSERS;

    #[test]
    fn every_committed_input_is_read_without_a_panic() {
        for parser in PARSERS {
            let mut target = (parser.set_up)();
            let committed = committed(parser).unwrap();
            assert!(committed.len() >= 10, "{}: {} inputs", parser.name, committed.len());
            for input in &committed {
                let outcome = panic::catch_unwind(AssertUnwindSafe(|| target(input)));
                assert!(outcome.is_ok(), "{}: {}", parser.name, input.escape_ascii());
            }
            // An ordinary input has an ordinary outcome.
            assert!(!target(&parser.ordinary(4_096)).contains("rror"), "{}", parser.name);
        }
    }
}
