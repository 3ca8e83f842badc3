//! Compressed conversations: bytes survive a round trip in any pieces; mysql_common reads ours and
//! we read theirs; and no bytes cause a panic.

use bytes::BytesMut;
use loadstone_wire::{Capabilities, CompressionWish, error_code};
use loadstone_wire::{Codec, Compression, CompressionLayer, Expect, Reply, ReplyReader, WireError};
use loadstone_wire::{Login, LoginOptions, LoginProgress, Session, TlsWish, write_query};
use mysql_common::proto::codec::PacketCodec;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::sync::Arc;

const GREETING_MARIADB_10_11_19: &[u8] = b"d\0\0\0\x0a5.5.5-10.11.19-MariaDB-0+deb12u1\0\x05\0\0\0\
    K#jmd0]h\0\xfe\xf7\x08\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0ow)c:5=o:pHW\0\
    mysql_native_password\0";
const GREETING_MYSQL_9_7_4: &[u8] =
    b"K\0\0\0\x0a9.7.4-2\0\x09\0\0\0S\x12:V>NK\x13\0\xff\xff\xff\x02\0\
    \xff\xdf\x15\0\0\0\0\0\0\0\0\0\0\x1cm\x0a\x05\x05v\x19#T<\\]\0caching_sha2_password\0";
const OK: &[u8] = b"\x07\0\0\x02\0\0\0\x02\0\0\0";

/// All that can be read of `wire` when it arrives in pieces of `piece` bytes, into a buffer of
/// `room`.
fn unpack(
    layer: &mut CompressionLayer,
    wire: &[u8],
    (piece, room): (usize, usize),
) -> Result<Vec<u8>, WireError> {
    let (mut codec, mut plain, mut buffer) = (Codec::default(), Vec::new(), vec![0; room]);
    for bytes in wire.chunks(piece) {
        layer.feed(bytes);
        while layer.has_more() {
            let count = layer.read(&mut codec, &mut buffer)?;
            plain.extend_from_slice(&buffer[..count]);
        }
        assert_eq!(layer.read(&mut codec, &mut buffer), Ok(0));
    }
    Ok(plain)
}

fn pack(layer: &mut CompressionLayer, plain: &[u8]) -> Vec<u8> {
    let mut wire = Vec::new();
    layer.pack(&mut Codec::default(), plain, &mut wire);
    wire
}

fn kinds() -> impl Strategy<Value = Compression> {
    select(Compression::ALL.to_vec())
}

/// Bytes of which some compress well and some not at all.
fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 0..2_000),
        (any::<u8>(), 0..100_000_usize).prop_map(|(byte, length)| vec![byte; length]),
        vec(select(b"SELECT c FROM sbtest1 WHERE id=".to_vec()), 0..5_000),
    ]
}

fn login(greeting: &[u8], wish: CompressionWish) -> (Vec<u8>, Result<Session, WireError>) {
    let options = LoginOptions {
        user: "user".to_owned(),
        tls: TlsWish::Never,
        compression: wish,
        attributes: vec![("program_name".to_owned(), "test".to_owned())],
        ..LoginOptions::default()
    };
    let (mut login, mut out) = (Login::new(Arc::new(options)), Vec::new());
    if let Err(error) = login.feed(greeting, &mut out) {
        return (out, Err(error));
    }
    match login.feed(OK, &mut Vec::new()) {
        Ok((_, LoginProgress::Done(session))) => (out, Ok(session)),
        other => panic!("{other:?}"),
    }
}

fn wish(any_of: &[Compression], must: bool) -> CompressionWish {
    CompressionWish { any_of: any_of.to_vec(), must }
}

#[test]
fn the_first_kind_that_the_server_has_is_agreed_on_and_no_other() {
    use Compression::{Zlib, Zstd};
    let zlib = Capabilities::COMPRESS.bits();
    let zstd = Capabilities::ZSTD_COMPRESSION_ALGORITHM.bits();
    type Case<'a> = (&'a [u8], &'a [Compression], Option<Compression>, u64);
    let cases: [Case<'_>; 6] = [
        (GREETING_MARIADB_10_11_19, &[], None, 0),
        (GREETING_MARIADB_10_11_19, &[Zlib], Some(Zlib), zlib),
        (GREETING_MARIADB_10_11_19, &[Zstd, Zlib], Some(Zlib), zlib),
        (GREETING_MYSQL_9_7_4, &[Zstd, Zlib], Some(Zstd), zstd),
        (GREETING_MYSQL_9_7_4, &[Zlib, Zstd], Some(Zlib), zlib),
        (GREETING_MARIADB_10_11_19, &[Zstd], None, 0),
    ];
    for (greeting, any_of, agreed, flags) in cases {
        let (sent, session) = login(greeting, wish(any_of, false));
        let session = session.unwrap();
        assert_eq!(session.compression, agreed);
        let said = u64::from(u32::from_le_bytes(sent[4..8].try_into().unwrap()));
        assert_eq!(said & (zlib | zstd), flags);
        // The level follows the attributes, and only for zstd.
        let level = sent.ends_with(b"\x0cprogram_name\x04test\x03");
        assert_eq!(level, agreed == Some(Zstd));
    }
}

#[test]
fn a_server_that_has_none_of_what_must_be_is_sent_nothing() {
    use Compression::{Zlib, Zstd};
    let (sent, refused) = login(GREETING_MARIADB_10_11_19, wish(&[Zstd], true));
    assert!(sent.is_empty());
    let said = refused.unwrap_err().to_string();
    assert_eq!(said, "compression: zstd is asked for, and the server offers zlib");
    let mut bare = GREETING_MARIADB_10_11_19.to_vec();
    let low_half = bare.iter().position(|&byte| byte == 0xfe).unwrap();
    bare[low_half] &= !0x20;
    let (_, refused) = login(&bare, wish(&[Zstd, Zlib], true));
    let said = refused.unwrap_err().to_string();
    assert_eq!(said, "compression: zstd or zlib is asked for, and the server offers none");
}

#[test]
fn packets_inside_may_be_numbered_by_the_packets_around_them() {
    let (_, session) = login(GREETING_MARIADB_10_11_19, wish(&[Compression::Zlib], true));
    let mut reader = ReplyReader::new(session.unwrap().capabilities);
    // Two results: the server flushed after the first, and numbered the second from the start.
    reader.expect(Expect::Query);
    let replies = b"\x07\0\0\x01\0\0\0\x0a\0\0\0\x07\0\0\x09\0\x01\0\x02\0\0\0";
    let (consumed, reply) = reader.feed(replies).unwrap();
    assert_eq!(consumed, replies.len());
    assert!(matches!(reply, Some(Reply::Done(done)) if done.affected_rows == 1));
    // And an error belongs to the statement, not to the connection.
    reader.expect(Expect::Query);
    let failed = reader.feed(b"\x09\0\0\x05\xff\x28\x04#42000").unwrap();
    assert!(matches!(failed, (_, Some(Reply::Failed(error))) if error.code == error_code(1064)));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_packed_comes_out_in_any_pieces(
        by in kinds(),
        parts in vec(content(), 0..4),
        pieces in (1..5_000_usize, 1..5_000_usize),
    ) {
        let mut sender = CompressionLayer::new(by);
        let wire: Vec<u8> = parts.iter().flat_map(|part| pack(&mut sender, part)).collect();
        let plain = unpack(&mut CompressionLayer::new(by), &wire, pieces);
        prop_assert!(plain == Ok(parts.concat()));
    }

    #[test]
    fn any_bytes_are_read_or_refused_the_same_way_in_any_pieces(
        by in kinds(),
        bytes in vec(any::<u8>(), 0..300),
        honest in content(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        piece in 1..100_usize,
    ) {
        let mut damaged = pack(&mut CompressionLayer::new(by), &honest);
        if !damaged.is_empty() {
            let at = at.index(damaged.len());
            damaged[at] = byte;
        }
        for wire in [bytes, damaged] {
            let whole = unpack(&mut CompressionLayer::new(by), &wire, (usize::MAX, 1 << 20));
            let cut = unpack(&mut CompressionLayer::new(by), &wire, (piece, 77));
            prop_assert!(whole == cut);
        }
    }

    #[test]
    fn mysql_common_reads_ours_and_we_read_theirs(
        // Repeated, since mysql_common corrupts data that compression does not shorten.
        sentence in vec(select(b"SELECT c, pad FROM sbtest1 ".to_vec()), 0..50),
        times in 5..100_usize,
    ) {
        let sql = sentence.repeat(times);
        let level = mysql_common::proto::codec::Compression::default();
        let mut plain = Vec::new();
        write_query(&mut plain, &sql);
        let ours = pack(&mut CompressionLayer::new(Compression::Zlib), &plain);
        let mut theirs = PacketCodec::default();
        theirs.compress(level);
        let (mut wire, mut payload) = (BytesMut::from(&ours[..]), Vec::new());
        prop_assert!(theirs.decode(&mut wire, &mut payload).unwrap());
        prop_assert_eq!(&payload[..], &plain[4..]);

        let mut theirs = PacketCodec::default();
        theirs.compress(level);
        let mut wire = BytesMut::new();
        theirs.encode(&mut &payload[..], &mut wire).unwrap();
        let mut layer = CompressionLayer::new(Compression::Zlib);
        prop_assert!(unpack(&mut layer, &wire, (1_000, 1_000)) == Ok(plain));
    }
}
