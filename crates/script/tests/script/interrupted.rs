//! A script is interrupted by its own thread, which a signal makes do that.
#![expect(unsafe_code, reason = "signal masks")]

use std::ptr;
use std::time::{Duration, Instant};

use loadstone_script::{Watches, Wish};

use crate::fed::{Script, events, serve};

/// Blocks the signal that interrupts scripts in this thread (`SIG_BLOCK`), or no longer.
fn mask(how: libc::c_int) {
    // SAFETY: the set is initialised before it is used.
    unsafe {
        let mut signals = std::mem::zeroed();
        libc::sigemptyset(&raw mut signals);
        libc::sigaddset(&raw mut signals, libc::SIGURG);
        assert_eq!(libc::pthread_sigmask(how, &raw const signals, ptr::null_mut()), 0);
    }
}

/// Breaks off the first turn that lasts.
fn break_off_once(watches: &Watches) {
    let begun = Instant::now();
    let mut before = None;
    while begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(50));
        let watch = watches.living().into_iter().find(|watch| watch.turn().is_some());
        let turn = watch.as_ref().and_then(|watch| watch.turn());
        if turn.is_some() && turn == before {
            return watch.expect("it has a turn").break_off();
        }
        before = turn;
    }
}

#[test]
fn no_other_thread_touches_a_state_and_a_late_signal_does_no_harm() {
    let script = Script::new(
        "function event()
           local begun = os.clock()
           while sysbench.tid == 0 and os.clock() - begun < 1 do end
           print('came back')
         end",
    );
    let watches = script.plan.watches.clone();
    let mut vm = script.vm();
    let mut users = [vm.user(0).expect("a user"), vm.user(1).expect("another")];
    let [long, other] = users.each_mut();
    mask(libc::SIG_BLOCK);
    let dog = std::thread::spawn(move || break_off_once(&watches));
    let error = serve(long, &Wish::ThreadRun, &mut events(1)).expect_err("broken off");
    dog.join().expect("no panic");
    let text = error.to_string();
    assert!(text.contains("it was in ?"), "{text}");
    assert_eq!(*script.printed.borrow(), "came back\n", "it was interrupted without the signal");
    mask(libc::SIG_UNBLOCK);
    serve(other, &Wish::ThreadRun, &mut events(2)).expect("nothing interrupts it");
    assert_eq!(*script.printed.borrow(), "came back\ncame back\ncame back\n");
}
