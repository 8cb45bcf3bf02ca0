//! The vDSO of programs that read the clock there and bypass libc, as Go's do: the process's private copy is changed so
//! that `__vdso_clock_gettime` jumps to the reader below. Enabled by `LESSON_CLOCK_VDSO`, and in programs of users that Go
//! has built.
//!
//! The reader may run on a small stack, and on a thread that libc does not know: it must call nothing of libc and use
//! no thread-local data.

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use core::{
        arch::asm,
        ffi::{CStr, c_char, c_int, c_ulong, c_void},
        ptr, slice,
        sync::atomic::Ordering,
    };

    use super::CHANGED;
    use crate::{
        go_note::has_note_of_go,
        libc::*,
        moment::{Family, Page},
    };

    const AT_PHDR: c_ulong = 3;
    const AT_PHNUM: c_ulong = 5;
    const AT_SYSINFO_EHDR: c_ulong = 33;
    const PT_LOAD: u32 = 1;
    const PT_DYNAMIC: u32 = 2;
    const PT_NOTE: u32 = 4;
    const PT_PHDR: u32 = 6;
    const DT_HASH: i64 = 4;
    const DT_STRTAB: i64 = 5;
    const DT_SYMTAB: i64 = 6;
    const DT_GNU_HASH: i64 = 0x6fff_fef5;
    const PAGE_SIZE: usize = 4096;
    const SYS_SCHED_YIELD: i64 = 24;
    const SYS_CLOCK_GETTIME: i64 = 228;

    unsafe extern "C" {
        fn getauxval(kind: c_ulong) -> c_ulong;
        fn mprotect(at: *mut c_void, size: usize, prot: c_int) -> c_int;
    }

    #[repr(C)]
    struct Header {
        ident: [u8; 16],
        kind: [u16; 2],
        version: u32,
        entry: u64,
        segments_at: u64,
        sections_at: u64,
        flags: u32,
        sizes: [u16; 2],
        segments: u16,
    }

    #[repr(C)]
    struct Segment {
        kind: u32,
        flags: u32,
        offset: u64,
        address: u64,
        physical: u64,
        in_file: u64,
        in_memory: u64,
        align: u64,
    }

    #[repr(C)]
    struct Symbol {
        name: u32,
        info: u8,
        other: u8,
        section: u16,
        value: u64,
        size: u64,
    }

    fn system_call(number: i64, one: usize, two: usize) -> i64 {
        let result;
        // SAFETY: the two system calls that are made write no memory except where the caller says.
        unsafe {
            asm!("syscall", inlateout("rax") number => result, in("rdi") one, in("rsi") two,
                 lateout("rcx") _, lateout("r11") _, options(nostack));
        }
        result
    }

    /// Reads a real clock without libc and without the vDSO, in nanoseconds.
    pub(crate) fn real(clock: c_int) -> i64 {
        let mut time = Timespec { seconds: 0, nanos: 0 };
        system_call(SYS_CLOCK_GETTIME, clock as usize, (&raw mut time).addr());
        time.as_nanos()
    }

    extern "C" fn read_clock(clock: c_int, time: *mut Timespec) -> c_int {
        let (Some(family), Some(page)) = (Family::of(clock), Page::get()) else {
            return system_call(SYS_CLOCK_GETTIME, clock as usize, time.addr()) as c_int;
        };
        loop {
            if let Some(moment) = page.try_moment() {
                // SAFETY: the caller passes a place for the answer.
                unsafe { *time = Timespec::from_nanos(moment.of(family)) };
                return 0;
            }
            system_call(SYS_SCHED_YIELD, 0, 0);
        }
    }

    /// Whether this process runs a program that Go has built: it has a note of Go's with its build id.
    pub(crate) fn is_program_of_go() -> bool {
        // SAFETY: the kernel says where the program's segments are listed, and has loaded its notes.
        unsafe {
            let listed = getauxval(AT_PHDR) as usize;
            if listed == 0 {
                return false;
            }
            let segments = slice::from_raw_parts(
                ptr::with_exposed_provenance::<Segment>(listed),
                getauxval(AT_PHNUM) as usize,
            );
            let own = segments.iter().find(|segment| segment.kind == PT_PHDR);
            let base = own.map_or(0, |own| listed.wrapping_sub(own.address as usize));
            segments.iter().filter(|segment| segment.kind == PT_NOTE).any(|notes| {
                let at = ptr::with_exposed_provenance::<u8>(base.wrapping_add(notes.address as usize));
                has_note_of_go(slice::from_raw_parts(at, notes.in_memory as usize))
            })
        }
    }

    /// Makes the vDSO answer in lesson time. Returns whether that succeeded.
    pub(crate) fn change() -> bool {
        // SAFETY: the kernel maps a whole ELF image there, which is read within its own bounds; the process has one
        // thread, so nobody runs the function while it is changed.
        unsafe {
            let base = getauxval(AT_SYSINFO_EHDR) as usize;
            if base == 0 {
                return false;
            }
            let at = |offset: u64| ptr::with_exposed_provenance_mut::<u8>(base.wrapping_add(offset as usize));
            let header = &*at(0).cast::<Header>();
            let segments =
                slice::from_raw_parts(at(header.segments_at).cast::<Segment>(), header.segments.into());
            let (mut load, mut size, mut dynamic) = (0, 0, ptr::null::<[i64; 2]>());
            for segment in segments {
                match segment.kind {
                    PT_LOAD => {
                        (load, size) = (segment.address, (segment.address + segment.in_memory) as usize)
                    }
                    PT_DYNAMIC => dynamic = at(segment.offset).cast(),
                    _ => {}
                }
            }
            if dynamic.is_null() {
                return false;
            }
            let (mut names, mut symbols, mut count) = (ptr::null::<c_char>(), ptr::null::<Symbol>(), 0);
            while (*dynamic)[0] != 0 {
                let [tag, value] = *dynamic;
                let place = at((value as u64).wrapping_sub(load));
                match tag {
                    DT_STRTAB => names = place.cast(),
                    DT_SYMTAB => symbols = place.cast(),
                    DT_HASH => count = *place.cast::<u32>().add(1),
                    DT_GNU_HASH if count == 0 => count = symbols_of(place.cast()),
                    _ => {}
                }
                dynamic = dynamic.add(1);
            }
            if names.is_null() || symbols.is_null() {
                return false;
            }
            let whole = size.next_multiple_of(PAGE_SIZE);
            if mprotect(at(0).cast(), whole, PROT_READ | PROT_WRITE | PROT_EXEC) != 0 {
                return false;
            }
            let mut changed = false;
            for n in 0..count as usize {
                let symbol = &*symbols.add(n);
                if symbol.section != 0
                    && CStr::from_ptr(names.add(symbol.name as usize)) == c"__vdso_clock_gettime"
                {
                    // mov rax, ADDRESS; jmp rax
                    let mut code = [0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0];
                    code[2..10].copy_from_slice(&(read_clock as *const () as u64).to_ne_bytes());
                    let function = at(symbol.value.wrapping_sub(load));
                    ptr::copy_nonoverlapping(code.as_ptr(), function, code.len());
                    changed = true;
                }
            }
            mprotect(at(0).cast(), whole, PROT_READ | PROT_EXEC);
            CHANGED.store(changed, Ordering::Release);
            changed
        }
    }

    /// The number of symbols in a GNU hash table. SAFETY: `table` points to one.
    unsafe fn symbols_of(table: *const u32) -> u32 {
        // SAFETY: the table is in the image, and its last chain ends with an odd number.
        unsafe {
            let (buckets, first, blooms) = (*table, *table.add(1), *table.add(2));
            let bucket = table.add(4 + 2 * blooms as usize);
            let chain = bucket.add(buckets as usize);
            let mut last = (0..buckets as usize).map(|n| *bucket.add(n)).max().unwrap_or(0);
            if last < first {
                return first;
            }
            while *chain.add((last - first) as usize) & 1 == 0 {
                last += 1;
            }
            last + 1
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{change, is_program_of_go, real};

use core::sync::atomic::AtomicBool;

/// Whether the vDSO is changed, so that libc, which asks it, no longer returns real time.
pub(crate) static CHANGED: AtomicBool = AtomicBool::new(false);

/// Nothing is changed there, and Lockstep sees a program of Go on the real clock.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn is_program_of_go() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn change() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn real(_: core::ffi::c_int) -> i64 {
    0
}
