//! Check that a library is complete.

/// First bytes of an ELF file with 64 bits and little-endian numbers.
const MAGIC: &[u8] = b"\x7fELF\x02\x01";
/// Type of a program header whose part of the file is mapped.
const LOAD: u64 = 1;

/// Refuses a file in ELF (Tool Interface Standard, version 1.2; 64 bits, little-endian) that ends before the parts that its
/// program headers name. A file whose end is missing, because it is still being written, would be mapped beyond its end,
/// and reading there ends the process. Files in other formats pass.
pub(super) fn check_complete(file: &[u8]) -> Result<(), String> {
    if !file.starts_with(MAGIC) {
        return Ok(());
    }
    let number = |at: u64, bytes: u64| -> Option<u64> {
        let field = file.get(at as usize..at.checked_add(bytes)? as usize)?;
        Some(field.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    };
    let ends = || -> Option<bool> {
        // e_phoff, e_phentsize and e_phnum, then for each program header p_type, p_offset and p_filesz.
        let (headers, size, count) = (number(0x20, 8)?, number(0x36, 2)?, number(0x38, 2)?);
        for index in 0..count {
            let header = headers.checked_add(index * size)?;
            let end = number(header.checked_add(8)?, 8)?.checked_add(number(header.checked_add(0x20)?, 8)?)?;
            if number(header, 4)? == LOAD && end > file.len() as u64 {
                return Some(false);
            }
        }
        Some(true)
    };
    if ends() == Some(true) { Ok(()) } else { Err("its end is missing".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::check_complete;

    /// Returns a file with one program header, of this type, for `length` bytes from the start of the file.
    fn elf(kind: u32, length: u64) -> Vec<u8> {
        let mut file = vec![0; 0x78];
        file[..6].copy_from_slice(super::MAGIC);
        file[0x20] = 0x40;
        file[0x36] = 0x38;
        file[0x38] = 1;
        file[0x40..0x44].copy_from_slice(&kind.to_le_bytes());
        file[0x60..0x68].copy_from_slice(&length.to_le_bytes());
        file
    }

    #[test]
    fn a_file_is_complete_if_it_has_all_parts_that_are_mapped() {
        assert_eq!(check_complete(&elf(1, 0x78)), Ok(()));
        assert!(check_complete(&elf(1, 0x79)).is_err());
        assert!(check_complete(&elf(1, u64::MAX)).is_err());
        assert_eq!(check_complete(&elf(6, 0x79)), Ok(()));
        assert!(check_complete(&elf(1, 0x78)[..0x70]).is_err());
        assert_eq!(check_complete(b"MZ"), Ok(()));
    }
}
