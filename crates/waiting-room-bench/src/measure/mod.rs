//! How things are measured: time in interleaved rounds, instructions and allocations by valgrind.

mod cpu;
mod memory;
mod rounds;
mod samples;
mod valgrind;

pub(crate) use self::{
    cpu::{pin_to, process_cpu_time},
    memory::{Weight, resident_bytes, weigh},
    rounds::{time, time_by_wall},
    samples::Samples,
    valgrind::{Counting, Counts, count},
};
