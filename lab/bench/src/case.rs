//! The cases that are measured, in groups that share a table.
//!
//! A case is identified by its name and that of its group, so that the same case can be timed here
//! and counted in a child process.

/// One operation to be measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// The name of its row in the table.
    pub(crate) name: &'static str,
    /// Prepares the operation, and returns a closure that repeats it.
    pub(crate) set_up: fn() -> Repeat,
}

#[cfg(test)]
impl Case {
    /// Counts the allocations of one repetition.
    pub(crate) fn allocations(&self) -> u64 {
        const TIMES: u64 = 10;
        let mut repeat = (self.set_up)();
        repeat.run(TIMES);
        allocation_counter::measure(|| repeat.run(TIMES)).count_total / TIMES
    }
}

/// Repeats an operation a given number of times.
pub(crate) struct Repeat(Box<dyn FnMut(u64)>);

impl Repeat {
    pub(crate) fn new(repeat: impl FnMut(u64) + 'static) -> Self {
        Self(Box::new(repeat))
    }

    pub(crate) fn run(&mut self, times: u64) {
        (self.0)(times);
    }

    /// The same as [`run`](Self::run), for callgrind, which counts only inside this function. So it
    /// must not be inlined.
    #[inline(never)]
    pub(crate) fn counted(&mut self, times: u64) {
        self.run(times);
    }
}

/// A group of cases that share a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    name: &'static str,
    title: &'static str,
    figures: Figures,
    cases: &'static [Case],
}

/// The figures of a group's cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figures {
    /// CPU time, instructions and allocations.
    Costs,
    /// The memory of what each repetition leaves behind.
    Memory,
    /// CPU time. The cases take minutes to set up under valgrind.
    Times,
    /// Wall time, because the cases start threads.
    WallTimes,
}

impl Group {
    /// Creates a group whose table shows all costs.
    pub(crate) const fn new(
        name: &'static str,
        title: &'static str,
        cases: &'static [Case],
    ) -> Self {
        Self { name, title, figures: Figures::Costs, cases }
    }

    pub(crate) const fn showing(self, figures: Figures) -> Self {
        Self { figures, ..self }
    }

    /// The name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        self.name
    }

    pub(crate) const fn title(self) -> &'static str {
        self.title
    }

    pub(crate) const fn figures(self) -> Figures {
        self.figures
    }

    pub(crate) const fn cases(self) -> &'static [Case] {
        self.cases
    }

    /// The case of this name.
    pub(crate) fn case(self, name: &str) -> Option<&'static Case> {
        self.cases.iter().find(|case| case.name == name)
    }
}
