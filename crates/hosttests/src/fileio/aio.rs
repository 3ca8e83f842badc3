//! Asynchronous file requests: the kernel's asynchronous I/O, io_submit(2), as libaio uses it. For
//! files opened without `direct`, most file systems block in the call all the same.
#![expect(
    unsafe_code,
    reason = "these system calls have no wrapper, and the kernel writes to memory"
)]

use super::blocking::{buffer_for, complete, was_read, was_written};
use super::checksum::{seal, verify};
use super::files::Files;
use super::io::{Io, SYNCED};
use super::layout::Span;
use super::plan::FilePlan;
use super::requests::Request;
use crate::error::HostError;
use crate::meter::Meter;
use crate::pages::Pages;
use loadstone_measure::Nanos;
use rustix::fd::AsRawFd;
use std::io;
use std::ptr::null_mut;

/// struct iocb of <linux/aio_abi.h>, on little-endian machines.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Iocb {
    data: u64,
    key: u32,
    rw_flags: u32,
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    length: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}

/// struct io_event of the same header.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct IoEvent {
    data: u64,
    iocb: u64,
    result: i64,
    result2: i64,
}

const PREAD: u16 = 0;
const PWRITE: u16 = 1;

/// The most completions taken at once.
const MOST_EVENTS: usize = 64;

/// The pending requests of one thread.
pub(super) struct Queue<'a> {
    context: libc::c_ulong,
    files: &'a Files,
    sync_each_write: bool,
    checksums: bool,
    slots: Vec<Slot>,
    free: Vec<usize>,
}

/// A pending request: its memory is the kernel's until it ends.
struct Slot {
    buffer: Pages,
    iocb: Iocb,
    from: Nanos,
    request: Option<Request>,
}

impl<'a> Queue<'a> {
    pub(super) fn new(plan: &FilePlan, files: &'a Files) -> Result<Self, HostError> {
        let slots = (0..plan.async_backlog)
            .map(|_| {
                let buffer = buffer_for(plan)?;
                Ok(Slot { buffer, iocb: Iocb::default(), from: Nanos::ZERO, request: None })
            })
            .collect::<Result<Vec<_>, HostError>>()?;
        let mut context: libc::c_ulong = 0;
        // SAFETY: the kernel writes the context's number to the given place, which is ours.
        let code = unsafe {
            libc::syscall(libc::SYS_io_setup, libc::c_ulong::from(plan.async_backlog), &mut context)
        };
        checked(code).map_err(HostError::system(
            "set up asynchronous I/O (fs.aio-max-nr bounds its queues)",
        ))?;
        let free = (0..slots.len()).collect();
        let (sync_each_write, checksums) = (plan.fsync_all, plan.checksums);
        Ok(Self { context, files, sync_each_write, checksums, slots, free })
    }

    fn under_way(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    fn submit(&mut self, request: Request, span: Span, from: Nanos) -> Result<(), HostError> {
        let fd = self.files.fd(span.file)?.as_raw_fd();
        let place = self.free.pop().ok_or(HostError::Bug)?;
        let slot = self.slots.get_mut(place).ok_or(HostError::Bug)?;
        slot.from = from;
        slot.request = Some(request);
        if self.checksums && matches!(request, Request::Write(_)) {
            let block = slot.buffer.bytes_mut().get_mut(..span.length).ok_or(HostError::Bug)?;
            seal(block, span.offset);
        }
        slot.iocb = Iocb {
            data: place as u64,
            opcode: if matches!(request, Request::Read(_)) { PREAD } else { PWRITE },
            fd: fd as u32,
            buffer: slot.buffer.address(),
            length: span.length as u64,
            offset: span.offset as i64,
            ..Iocb::default()
        };
        let mut list: *mut Iocb = &raw mut slot.iocb;
        // SAFETY: the list is one pointer to a control block of ours, which the call has read when
        // it returns; the buffer it names is as long as it says, and nobody touches it until the
        // kernel reports that the request has ended (`Drop` waits for that).
        let code =
            unsafe { libc::syscall(libc::SYS_io_submit, self.context, 1_i64, &raw mut list) };
        match checked(code) {
            Ok(1) => Ok(()),
            outcome => {
                slot.request = None;
                self.free.push(place);
                let error = outcome.err().unwrap_or_else(|| io::ErrorKind::WouldBlock.into());
                Err(self.files.failed("begin a request on", span.file, error))
            }
        }
    }

    /// Waits until at least `least` requests have ended, and counts all that have.
    fn reap(&mut self, least: usize, meter: &mut Meter) -> Result<(), HostError> {
        let mut events = [IoEvent::default(); MOST_EVENTS];
        let most = self.under_way().min(MOST_EVENTS);
        // SAFETY: the kernel writes at most `most` events to the given place, which has room for
        // more.
        let code = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                least.min(most) as libc::c_long,
                most as libc::c_long,
                events.as_mut_ptr(),
                null_mut::<libc::timespec>(),
            )
        };
        let count = match checked(code) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            outcome => outcome.map_err(HostError::system("wait for asynchronous I/O"))?,
        };
        for event in events.iter().take(count) {
            self.ended(*event, meter)?;
        }
        Ok(())
    }

    fn ended(&mut self, event: IoEvent, meter: &mut Meter) -> Result<(), HostError> {
        let place = event.data as usize;
        let slot = self.slots.get_mut(place).ok_or(HostError::Bug)?;
        let request = slot.request.take().ok_or(HostError::Bug)?;
        let from = slot.from;
        self.free.push(place);
        let moved = usize::try_from(event.result)
            .map_err(|_| io::Error::from_raw_os_error((-event.result) as i32));
        let done = match request {
            Request::Read(span) => {
                complete("read", self.files, span, moved)?;
                if self.checksums {
                    let block = slot.buffer.bytes_mut().get(..span.length);
                    verify(self.files, span, block.ok_or(HostError::Bug)?)?;
                }
                was_read(span)
            }
            Request::Write(span) => {
                complete("write", self.files, span, moved)?;
                let mut done = was_written(span);
                if self.sync_each_write {
                    self.files.sync(span.file)?;
                    done.syncs = 1;
                }
                done
            }
            Request::Sync(_) => return Err(HostError::Bug),
        };
        meter.event(from, &done);
        Ok(())
    }

    fn wait_for_all(&mut self, meter: &mut Meter) -> Result<(), HostError> {
        while self.under_way() > 0 {
            self.reap(1, meter)?;
        }
        Ok(())
    }
}

impl Io for Queue<'_> {
    fn make(&mut self, request: Request, from: Nanos, meter: &mut Meter) -> Result<(), HostError> {
        match request {
            Request::Read(span) | Request::Write(span) => {
                if self.free.is_empty() {
                    self.reap(1, meter)?;
                }
                self.submit(request, span, from)?;
                // Count requests that have ended now, rather than when the queue is full.
                self.reap(0, meter)
            }
            Request::Sync(file) => {
                // A sync only covers requests that have ended.
                self.wait_for_all(meter)?;
                self.files.sync(file)?;
                meter.event(from, &SYNCED);
                Ok(())
            }
        }
    }

    fn finish(&mut self, meter: &mut Meter) -> Result<(), HostError> {
        self.wait_for_all(meter)
    }
}

/// The kernel ends or finishes all requests before this call returns: then nobody writes to the
/// buffers any more.
impl Drop for Queue<'_> {
    fn drop(&mut self) {
        // SAFETY: the context belongs to this value and is not used after this.
        let code = unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
        debug_assert!(code == 0, "a context of our own can be given back");
    }
}

fn checked(code: libc::c_long) -> io::Result<usize> {
    usize::try_from(code).map_err(|_| io::Error::last_os_error())
}

/// The layout above is the little-endian one; both supported architectures are little-endian.
const _: () = assert!(cfg!(target_endian = "little") && size_of::<Iocb>() == 64);
