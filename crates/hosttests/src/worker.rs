//! The loop of one thread of a host test.

use crate::claims::{Claim, Claims};
use crate::error::HostError;
use crate::meter::Meter;
use crate::work::{Next, Work};
use loadstone_measure::Nanos;
use std::time::Duration;

/// How long a thread sleeps at most before it checks whether to stop.
const LONGEST_NAP: Nanos = Nanos::from_millis(100);

/// Runs events until no more may start.
pub(crate) fn run(work: &mut dyn Work, claims: &Claims, mut meter: Meter) -> Result<(), HostError> {
    let mut kept = 0;
    loop {
        let now = meter.now();
        let next = match claims.claim(&mut kept, now) {
            Claim::Over => break,
            Claim::Now => work.event(now, &mut meter)?,
            Claim::Due(due) => {
                if !sleep_until(due, claims, &meter) {
                    break;
                }
                claims.begin();
                let next = work.event(due, &mut meter);
                claims.end();
                next?
            }
        };
        if next == Next::Nothing {
            break;
        }
    }
    work.finish(&mut meter)?;
    meter.finish();
    Ok(())
}

/// `false` if the test was stopped while waiting.
fn sleep_until(due: Nanos, claims: &Claims, meter: &Meter) -> bool {
    loop {
        let left = due - meter.now();
        if left == Nanos::ZERO {
            return true;
        }
        if claims.is_stopped() {
            return false;
        }
        std::thread::sleep(Duration::from_nanos(left.min(LONGEST_NAP).0));
    }
}
