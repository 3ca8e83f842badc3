//! Tests of the compression layer, in pieces and against hostile sizes.

use super::header::HEADER;
use super::*;
use crate::WireError;
use crate::frame::MAX_PACKET_PAYLOAD;

/// From the documentation of the protocol: a query of 46 bytes, compressed with its header.
const QUERY_PACKED: &[u8] = b"\x22\0\0\0\x32\0\0\x78\x9c\xd3\x63\x60\x60\x60\x2e\x4e\xcd\x49\x4d\
    \x2e\x51\x50\x32\x30\x34\x32\x36\x31\x35\x33\xb7\xb0\xc4\xcd\x52\x02\0\x0c\xd1\x0a\x6c";
const QUERY: &[u8] = b"\x2e\0\0\0\x03select \"012345678901234567890123456789012345\"";

const DAMAGED: Result<Vec<u8>, WireError> =
    Err(WireError::Compressed { what: "its content is damaged" });
const TOO_MUCH: Result<Vec<u8>, WireError> =
    Err(WireError::Compressed { what: "it holds more than it announces" });
const TOO_LITTLE: Result<Vec<u8>, WireError> =
    Err(WireError::Compressed { what: "it holds less than it announces" });

/// What a fresh connection unpacks from these bytes.
fn unpacked(by: Compression, wire: &[u8]) -> Result<Vec<u8>, WireError> {
    let (mut layer, mut codec) = (CompressionLayer::new(by), Codec::default());
    layer.feed(wire);
    read_all(&mut layer, &mut codec)
}

fn read_all(layer: &mut CompressionLayer, codec: &mut Codec) -> Result<Vec<u8>, WireError> {
    let (mut plain, mut buffer) = (Vec::new(), [0; 1000]);
    loop {
        match layer.read(codec, &mut buffer)? {
            0 => return Ok(plain),
            count => plain.extend_from_slice(&buffer[..count]),
        }
    }
}

fn packed(by: Compression, plain: &[u8]) -> Vec<u8> {
    let (mut layer, mut out) = (CompressionLayer::new(by), Vec::new());
    layer.pack(&mut Codec::default(), plain, &mut out);
    out
}

/// The packet with another announced length of its content.
fn announcing(mut packet: Vec<u8>, length: u8) -> Vec<u8> {
    packet[4..HEADER].copy_from_slice(&[length, 0, 0]);
    packet
}

#[test]
fn the_packet_of_the_documentation_is_read_and_ours_say_the_same() {
    assert_eq!(unpacked(Compression::Zlib, QUERY_PACKED), Ok(QUERY.to_vec()));
    for by in Compression::ALL {
        let ours = packed(by, QUERY);
        assert!(ours.len() < QUERY.len() && ours[3..HEADER] == [0, 50, 0, 0]);
        assert_eq!(unpacked(by, &ours), Ok(QUERY.to_vec()));
    }
}

#[test]
fn what_is_short_or_would_not_be_shorter_goes_as_it_is() {
    let noise: Vec<u8> = (0..200_u8).map(|index| index.wrapping_mul(89) ^ (index >> 3)).collect();
    for by in Compression::ALL {
        for plain in [&QUERY[..49], &[7; 49], &noise] {
            let wire = packed(by, plain);
            assert_eq!(wire[..HEADER], [plain.len() as u8, 0, 0, 0, 0, 0, 0]);
            assert_eq!(&wire[HEADER..], plain);
            assert_eq!(unpacked(by, &wire).as_deref(), Ok(plain));
        }
    }
}

#[test]
fn packets_are_numbered_through_a_command_and_its_reply_and_anew_for_the_next() {
    let (mut client, mut server) =
        (CompressionLayer::new(Compression::Zlib), CompressionLayer::new(Compression::Zlib));
    for _ in 0..2 {
        client.begin_command();
        server.begin_command();
        send_300(&mut client, &mut server);
        send_300(&mut server, &mut client);
    }
    client.feed(b"\x01\0\0\xff\0\0\0x");
    let lost = client.read(&mut Codec::default(), &mut [0; 9]);
    assert_eq!(lost, Err(WireError::OutOfSequence { expected: 88, got: 255 }));
}

fn send_300(from: &mut CompressionLayer, to: &mut CompressionLayer) {
    let (mut codec, mut wire) = (Codec::default(), Vec::new());
    for _ in 0..300 {
        from.pack(&mut codec, b"x", &mut wire);
    }
    to.feed(&wire);
    assert_eq!(read_all(to, &mut codec), Ok(vec![b'x'; 300]));
}

#[test]
fn more_than_16_mib_goes_in_several_packets() {
    for by in Compression::ALL {
        for extra in [0, 1, 60] {
            let length = MAX_PACKET_PAYLOAD + extra;
            let plain: Vec<u8> = (0..length).map(|index| (index / 3) as u8).collect();
            let wire = packed(by, &plain);
            assert!(wire.len() < length / 10);
            assert!(unpacked(by, &wire) == Ok(plain), "{by}, {extra} more");
        }
    }
}

#[test]
fn a_length_that_lies_is_refused_either_way() {
    let content = [b'a'; 200];
    for by in Compression::ALL {
        let honest = packed(by, &content);
        assert_eq!(unpacked(by, &announcing(honest.clone(), 201)), TOO_LITTLE);
        for less in [1, 100, 199] {
            assert_eq!(unpacked(by, &announcing(honest.clone(), less)), TOO_MUCH);
        }
    }
}

#[test]
fn a_bomb_is_noticed_at_its_first_byte_too_many() {
    for by in Compression::ALL {
        let bomb = packed(by, &vec![0; MAX_PACKET_PAYLOAD]);
        let mut out = Vec::new();
        let refused = Codec::default().decompress(by, &bomb[HEADER..], 255, &mut out);
        assert_eq!(refused.map(|()| out.clone()), TOO_MUCH);
        assert_eq!(out.len(), 256);
    }
}

#[test]
fn a_huge_announcement_takes_no_memory() {
    let wire = b"\x0c\0\0\0\xff\xff\xffnot a stream";
    for by in Compression::ALL {
        assert_eq!(unpacked(by, wire), DAMAGED);
    }
    // An empty zstd frame that asks for a window of 2 GiB.
    let window = b"\x09\0\0\0\x01\0\0\x28\xb5\x2f\xfd\0\xa8\x01\0\0";
    assert_eq!(unpacked(Compression::Zstd, window), DAMAGED);
}

#[test]
fn damaged_or_cut_content_is_refused() {
    for by in Compression::ALL {
        let whole = packed(by, &[b'a'; 200]);
        let cut = whole[..whole.len() - 1].to_vec();
        let length = (cut.len() - HEADER) as u8;
        assert_eq!(unpacked(by, &[&[length], &cut[1..]].concat()), TOO_LITTLE);
        let mut behind = [&whole[..], b"x"].concat();
        behind[0] += 1;
        assert_eq!(unpacked(by, &behind), TOO_MUCH);
        let mut damaged = whole.clone();
        damaged[HEADER] ^= 0xff;
        assert_eq!(unpacked(by, &damaged), DAMAGED);
    }
}

#[test]
fn nothing_is_kept_of_a_long_reply() {
    let (mut layer, mut codec) = (CompressionLayer::new(Compression::Zlib), Codec::default());
    let plain: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let mut wire = Vec::new();
    layer.pack(&mut codec, &plain, &mut wire);
    layer.begin_command();
    layer.feed(&wire);
    assert!(layer.has_more());
    assert_eq!(read_all(&mut layer, &mut codec).map(|plain| plain.len()), Ok(plain.len()));
    assert!(!layer.has_more());
    assert!(layer.capacity() < 64 * 1024);
}
