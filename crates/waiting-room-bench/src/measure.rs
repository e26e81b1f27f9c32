//! How things are measured: time in interleaved rounds, instructions and allocations by valgrind.

mod cpu;
mod descriptors;
mod memory;
mod rounds;
mod samples;
mod valgrind;

pub(crate) use self::{
    cpu::{pin_to, process_cpu_time, thread_cpu_time},
    descriptors::allow_many_connections,
    memory::{Weight, resident_bytes, resident_bytes_of, weigh},
    rounds::{time, time_by_wall},
    samples::Samples,
    valgrind::{Counting, Counts, count},
};
