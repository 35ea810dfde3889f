//! Masks that stay masks.

/// All ones if the flag is set, else zero. The compiler is not told that it is one of the two:
/// otherwise it makes a branch of a selection by it, which takes a time that depends on the values,
/// and with random ones a wrong guess half of the time.
#[inline(always)]
#[must_use]
pub fn mask(flag: bool) -> u64 {
    let mask = u64::from(flag).wrapping_neg();
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    {
        let mut kept = mask;
        // SAFETY: there is no instruction; the register is given back as it was.
        unsafe {
            std::arch::asm!(
                "/* {0} */",
                inout(reg) kept,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        kept
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    std::hint::black_box(mask)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_mask_is_all_or_nothing() {
        assert_eq!([false, true].map(super::mask), [0, u64::MAX]);
    }
}
