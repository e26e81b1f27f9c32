//! What is measured: cases, in groups that share a table.
//!
//! A case is set up by its name and that of its group, so that the same one can be timed here and
//! counted in a child process.

/// One thing to be measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// Its row in the table.
    pub(crate) name: &'static str,
    /// Prepares everything; what comes back does the thing so many times.
    pub(crate) set_up: fn() -> Repeat,
}

#[cfg(test)]
impl Case {
    /// How many allocations one repetition makes.
    pub(crate) fn allocations(&self) -> u64 {
        const TIMES: u64 = 10;
        let mut repeat = (self.set_up)();
        repeat.run(TIMES);
        allocation_counter::measure(|| repeat.run(TIMES)).count_total / TIMES
    }
}

/// Does a thing so many times.
pub(crate) struct Repeat(Box<dyn FnMut(u64)>);

impl Repeat {
    pub(crate) fn new(repeat: impl FnMut(u64) + 'static) -> Self {
        Self(Box::new(repeat))
    }

    pub(crate) fn run(&mut self, times: u64) {
        (self.0)(times);
    }

    /// The same, for callgrind, which counts inside this function only; so it must be one.
    #[inline(never)]
    pub(crate) fn counted(&mut self, times: u64) {
        self.run(times);
    }
}

/// The cases that share a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    name: &'static str,
    cases: &'static [Case],
}

impl Group {
    pub(crate) const fn new(name: &'static str, cases: &'static [Case]) -> Self {
        Self { name, cases }
    }

    /// The name on the command line of a child process.
    pub(crate) const fn name(self) -> &'static str {
        self.name
    }

    pub(crate) const fn cases(self) -> &'static [Case] {
        self.cases
    }

    /// The case of this name.
    pub(crate) fn case(self, name: &str) -> Option<&'static Case> {
        self.cases.iter().find(|case| case.name == name)
    }
}
