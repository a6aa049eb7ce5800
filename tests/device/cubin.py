"""
Reads what ptxas noted in a cubin, how much local memory a kernel's threads
have, and which accesses it made. No tool of the toolkit is needed.
"""
import struct

SYMBOLS, INFO = 2, ".nv.info"
# format and attribute: the symbol's index, then bytes of local memory a thread
FRAME_SIZE = (4, 0x11)
# Instructions have 16 bytes, and begin with their code, of 12 bits. Of those of Hopper what
# nvdisasm calls
CODES = {
    0x980: "LD", 0x981: "LDG", 0x985: "ST", 0x986: "STG", 0x98A: "ATOM", 0x9A8: "ATOMG",
    0x98E: "REDG", 0x98F: "CCTL", 0x992: "MEMBAR", 0xB1D: "BAR"
}
TEXT, INSTRUCTION_BYTES = ".text.", 16


def local_bytes(path):
    """{kernel: bytes of local memory a thread}: its arrays, and the registers that it spills."""
    with open(path, "rb") as file:
        image = file.read()
    sections = _sections(image)
    strings, symbols = _symbols(image, sections)
    found = {}
    for name, kind, offset, size, _, _ in sections:
        if name == INFO:
            for attribute, value in _attributes(image[offset : offset + size]):
                if attribute == FRAME_SIZE:
                    index, frame = struct.unpack("<II", value)
                    found[_text(strings, symbols[index])] = frame
    return found


def accesses(path):
    """{kernel: the names of its accesses to memory and barriers, in the order of its code}."""
    with open(path, "rb") as file:
        image = file.read()
    found = {}
    for name, _, offset, size, _, _ in _sections(image):
        if name.startswith(TEXT):
            words = (
                struct.unpack_from("<H", image, at)[0] & 0xFFF
                for at in range(offset, offset + size, INSTRUCTION_BYTES)
            )
            found[name[len(TEXT):]] = [CODES[word] for word in words if word in CODES]
    return found


def _text(strings, offset):
    return strings[offset : strings.index(b"\0", offset)].decode()


def _sections(image):
    """(name, type, offset, size, link, size of an entry) of each, by the headers of a 64-bit ELF
    file."""
    begin, entry, count, names = *struct.unpack_from("<Q", image, 0x28), *struct.unpack_from(
        "<HHH", image, 0x3A
    )
    raw = [struct.unpack_from("<IIQQQQIIQQ", image, begin + i * entry) for i in range(count)]
    table = image[raw[names][4] : raw[names][4] + raw[names][5]]
    return [(_text(table, r[0]), r[1], r[4], r[5], r[6], r[9]) for r in raw]


def _symbols(image, sections):
    """The table of strings, and each symbol's name in it."""
    _, _, offset, size, link, entry = next(section for section in sections if section[1] == SYMBOLS)
    _, _, at, length, _, _ = sections[link]
    return image[at : at + length], [
        struct.unpack_from("<I", image, offset + i)[0] for i in range(0, size, entry)
    ]


def _attributes(data):
    """((format, attribute), value) of each; only format 4 carries more than two bytes."""
    at = 0
    while at + 4 <= len(data):
        kind, attribute, size = struct.unpack_from("<BBH", data, at)
        length = size if kind == 4 else 0
        yield (kind, attribute), data[at + 4 : at + 4 + length]
        at += 4 + length
