//! Time of the process and the repetition rule of every benchmark [spec:bench#0].

use std::time::Duration;

use crate::Failure;

/// CPU time of all threads of this process: libraries have some of their own.
pub fn process_cpu() -> Duration {
    let mut ts = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: ts is a valid place for the result.
    let rc = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut ts) };
    assert_eq!(rc, 0, "process clock");
    Duration::new(ts.tv_sec as u64, ts.tv_nsec as u32)
}

/// What the repetitions of one workload gave.
pub struct Timing {
    pub best: Duration,
    pub first: Duration,
    pub iters: u32,
}

/// Repeats `run` until there were 3 repetitions and at least `min_total` of CPU time, and keeps
/// the fastest. `prepare` goes before each repetition, untimed, and makes what `run` consumes.
pub fn measure<W, T>(
    world: &mut W,
    min_total: Duration,
    mut prepare: impl FnMut(&mut W) -> T,
    mut run: impl FnMut(&mut W, T) -> Result<(), Failure>,
) -> Result<Timing, Failure> {
    let mut timing = Timing {
        best: Duration::MAX,
        first: Duration::ZERO,
        iters: 0,
    };
    let mut total = Duration::ZERO;
    while timing.iters < 3 || total < min_total {
        let made = prepare(world);
        let start = process_cpu();
        let done = run(world, made);
        let spent = process_cpu() - start;
        done?;
        if timing.iters == 0 {
            timing.first = spent;
        }
        timing.best = timing.best.min(spent);
        total += spent;
        timing.iters += 1;
    }
    Ok(timing)
}
