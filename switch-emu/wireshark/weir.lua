-- Wireshark and tshark: what Weir adds to RoCEv2.
--
--   tshark -X lua_script:switch-emu/wireshark/weir.lua -r s1--s2.pcapng
--
-- or copy this file into the folder "Personal Lua Plugins" (Wireshark: Help, About, Folders).
--
-- 1. Telemetry between UDP and BTH, in packets to UDP port 4792: the INT shim with its flags, INT-MD, or an IOAM trace, and a
--    record of every switch passed. What follows it goes to Wireshark's own dissector of RoCEv2. For other ports:
--    Decode As, "udp.port", "weir". (Over IPv6, IOAM is a hop-by-hop option, which Wireshark knows.)
-- 2. IFA with UDP and RoCEv2 behind it. Its IP protocol is 253, or the preference weir_ifa.protocol:
--    tshark -o weir_ifa.protocol:131 …
-- 3. RoCEv2 whose end was not captured, which Wireshark's own dissector takes for malformed.
-- 4. Weir's own packets, opcodes 0xc0 to 0xff, which Wireshark calls unknown, and the tags of feedback on connections with a key.
-- 5. What Weir hosts say in the private data of REQ, REP, REJ and DREQ: features, needs, why a connection ends.
--
-- Layouts are those of carried-ack.ts, delayed-ack.ts, rate.ts, rate-request.ts, sack.ts, feedback-tag.ts, direct-tag.ts, arrival.ts, needs.ts,
-- int-shim.ts, int-md.ts, ioam-udp.ts, ioam-trace.ts and ifa.ts in lib/wire, messages those of proto/connect.proto, the units of compact records those of
-- lib/wire/telemetry/int-units.ts.

local UDP_PORT_ROCE = 4791
local UDP_PORT_INT = 4792
local SHIM_BYTES = 8
local SLOTS_MAX = 16
-- The first word of a shim that holds an acknowledgement.
local CARRIED_ACK = 0x11800001
local WIDE, COMPACT = 0, 1
local SLOT_BYTES = { [WIDE] = 24, [COMPACT] = 8 }

-- Of compact records, by speed code: bit/s, ns, bytes, bytes.
local RATE_BPS = { 10e6, 50e6, 100e6, 200e6, 500e6, 1e9, 2.5e9, 5e9, 10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9, 800e9 }
local TIME_UNIT = { 256, 256, 128, 128, 64, 32, 16, 8, 4, 4, 2, 2, 1, 1, 1, 1 }
local TX_UNIT = { 8, 32, 32, 64, 128, 128, 128, 128, 128, 256, 256, 256, 512, 1024, 2048, 4096 }
local QUEUE_UNIT = { 16, 16, 16, 16, 32, 32, 32, 64, 64, 64, 64, 64, 80, 160, 320, 640 }

local weir = Proto("weir", "Weir in-band telemetry")

local f = {
  version = ProtoField.uint8("weir.int.version", "Version", base.DEC, nil, 0xf0),
  format = ProtoField.uint8("weir.int.format", "Format", base.DEC, { [WIDE] = "wide", [COMPACT] = "compact" }, 0x0f),
  flags = ProtoField.uint8("weir.int.flags", "Flags", base.HEX),
  echo = ProtoField.bool("weir.int.flags.echo", "Echo (not to be stamped)", 8, nil, 0x80),
  reverse = ProtoField.bool("weir.int.flags.reverse", "Reverse (stamp the port that it came in by)", 8, nil, 0x40),
  subscribed = ProtoField.bool("weir.int.flags.subscribed", "Subscribed (a switch may answer)", 8, nil, 0x20),
  overflow = ProtoField.bool("weir.int.flags.overflow", "Overflow (more hops than slots)", 8, nil, 0x10),
  ratio_only = ProtoField.bool("weir.int.flags.ratio_only", "Ratio only (anonymised)", 8, nil, 0x08),
  host = ProtoField.bool("weir.int.flags.host", "Host (the last hop is the receiving host)", 8, nil, 0x01),
  hops = ProtoField.uint8("weir.int.hops", "Hops passed"),
  slots = ProtoField.uint8("weir.int.slots", "Slots"),
  path_id = ProtoField.uint16("weir.int.path_id", "Path id (XOR of the switch ids)", base.HEX),
  flows = ProtoField.uint16("weir.int.flows", "Concurrent flows at the receiver (0: unknown)"),
  hop = ProtoField.none("weir.hop", "Hop"),
  switch_id = ProtoField.uint16("weir.hop.switch_id", "Switch id"),
  port = ProtoField.uint16("weir.hop.port", "Egress port"),
  rate = ProtoField.uint64("weir.hop.rate", "Rate of the link (bit/s)"),
  time = ProtoField.uint64("weir.hop.time", "Departure (ns)"),
  tx_bytes = ProtoField.uint64("weir.hop.tx_bytes", "Bytes sent before (B)"),
  queue = ProtoField.uint64("weir.hop.queue", "Queue left behind (B)"),
  unused = ProtoField.bytes("weir.int.unused_slots", "Slots without a record"),
  carried_msn = ProtoField.uint24("weir.int.carried_ack.msn", "Carried ACK, MSN"),
  carried_duplicates = ProtoField.uint8("weir.int.carried_ack.duplicates", "Carried ACK, packets that arrived twice", base.DEC, nil, 0x7f),
  carried_psn = ProtoField.uint24("weir.int.carried_ack.psn", "Carried ACK, PSN"),
  md_remaining = ProtoField.uint8("weir.int_md.remaining_hops", "Remaining hop count"),
  md_exceeded = ProtoField.bool("weir.int_md.hops_exceeded", "E: max hop count exceeded", 8, nil, 0x04),
  md_mtu = ProtoField.bool("weir.int_md.mtu_exceeded", "M: MTU exceeded", 8, nil, 0x02),
  md_instructions = ProtoField.uint16("weir.int_md.instructions", "Instruction bitmap", base.HEX),
  md_domain = ProtoField.uint16("weir.int_md.domain", "Domain specific id", base.HEX),
  md_ds_instruction = ProtoField.uint16("weir.int_md.ds_instruction", "DS instruction", base.HEX),
  md_ds_flags = ProtoField.uint16("weir.int_md.ds_flags", "DS flags", base.HEX),
  ioam_namespace = ProtoField.uint16("weir.ioam.namespace", "Name space id", base.HEX),
  ioam_overflow = ProtoField.bool("weir.ioam.overflow", "Overflow (more nodes than room)", 16, nil, 0x0400),
  ioam_remaining = ProtoField.uint16("weir.ioam.remaining", "Remaining length (words)", base.DEC, nil, 0x007f),
  ioam_type = ProtoField.uint24("weir.ioam.trace_type", "Trace type", base.HEX),
  ifa_max = ProtoField.uint8("weir.ifa.max_length", "Max length (words)"),
  ifa_hop_limit = ProtoField.uint8("weir.ifa.hop_limit", "Hop limit"),
  ifa_length = ProtoField.uint8("weir.ifa.current_length", "Current length (words)"),
  ifa_residence = ProtoField.uint32("weir.ifa.residence", "Residence time (ns)"),
  source_port = ProtoField.uint16("weir.ifa.source_port", "UDP source port"),
  destination_port = ProtoField.uint16("weir.ifa.destination_port", "UDP destination port"),
  udp_length = ProtoField.uint16("weir.ifa.udp_length", "UDP length (without IFA)"),
}
weir.fields = f

local e_malformed = ProtoExpert.new("weir.malformed", "Malformed INT shim", expert.group.MALFORMED, expert.severity.ERROR)
local e_cut = ProtoExpert.new("weir.cut", "The rest of the packet, payload or ICRC, was not captured: its bytes are shown as 0",
  expert.group.UNDECODED, expert.severity.NOTE)
weir.experts = { e_malformed, e_cut }

-- Bits, counted from the first one of the range, as a number that is exact to 2^53.
local function bits(range, first, count)
  if count <= 32 then return range:bitfield(first, count) end
  return range:bitfield(first, count - 32) * 4294967296 + range:bitfield(first + count - 32, 32)
end

-- A record whose values are not, or not alone, whole bytes: shown at the bytes that hold them.
local function add(tree, field, range, value)
  tree:add(field, range, UInt64.new(value % 4294967296, math.floor(value / 4294967296)))
end

local function rate_text(bps)
  if bps >= 1e9 then return string.format("%g Gbit/s", bps / 1e9) end
  return string.format("%g Mbit/s", bps / 1e6)
end

local function wide_hop(slot, tree)
  local rate = bits(slot(4, 4), 0, 32) * 1000
  local time, tx, queue = bits(slot(8, 6), 0, 48), bits(slot(14, 6), 0, 48), bits(slot(20, 4), 0, 32)
  tree:add(f.switch_id, slot(0, 2))
  tree:add(f.port, slot(2, 2))
  add(tree, f.rate, slot(4, 4), rate)
  add(tree, f.time, slot(8, 6), time)
  add(tree, f.tx_bytes, slot(14, 6), tx)
  add(tree, f.queue, slot(20, 4), queue)
  tree:append_text(string.format(": switch %d port %d, %s, sent %.0f B, queue %.0f B, at %.0f ns",
    slot(0, 2):uint(), slot(2, 2):uint(), rate_text(rate), tx, queue, time))
end

-- 4 bits of speed, 24 of time, 20 of bytes sent, 16 of queue.
local function compact_hop(slot, tree)
  local code = bits(slot, 0, 4) + 1
  local time, tx, queue = bits(slot, 4, 24) * TIME_UNIT[code], bits(slot, 28, 20) * TX_UNIT[code], bits(slot, 48, 16) * QUEUE_UNIT[code]
  add(tree, f.rate, slot(0, 1), RATE_BPS[code])
  add(tree, f.time, slot(0, 4), time)
  add(tree, f.tx_bytes, slot(3, 3), tx)
  add(tree, f.queue, slot(6, 2), queue)
  tree:append_text(string.format(": %s, sent %.0f B, queue %.0f B, at %.0f ns", rate_text(RATE_BPS[code]), tx, queue, time))
end

local function add_head(tvb, tree)
  tree:add(f.version, tvb(0, 1))
  tree:add(f.format, tvb(0, 1))
  local flags = tree:add(f.flags, tvb(1, 1))
  for _, flag in ipairs({ f.echo, f.reverse, f.subscribed, f.overflow, f.ratio_only, f.host }) do flags:add(flag, tvb(1, 1)) end
  tree:add(f.hops, tvb(2, 1))
  tree:add(f.slots, tvb(3, 1))
  tree:add(f.path_id, tvb(4, 2))
  tree:add(f.flows, tvb(6, 2))
end

local function is_cut(tvb)
  return tvb:captured_len() < tvb:reported_len()
end

-- A packet whose telemetry breaks a rule, or ends before its length does. What was not captured may be sound.
local function fail(tvb, root, fault, is_short)
  local tree = root:add(weir, tvb())
  if is_short and is_cut(tvb) then tree:add_proto_expert_info(e_cut, "The telemetry was not captured whole")
  else tree:add_proto_expert_info(e_malformed, fault) end
  return tvb:captured_len()
end

-- Bytes of the shim, or nil, what is wrong with it, and whether it is just short: the rules of `check` in int-shim.ts.
local function shim_length(tvb)
  if tvb:captured_len() < SHIM_BYTES then return nil, "shorter than 8 bytes", true end
  local slot_bytes = SLOT_BYTES[tvb(0, 1):bitfield(4, 4)]
  if tvb(0, 1):bitfield(0, 4) ~= 1 or slot_bytes == nil then return nil, "version or format unknown" end
  local hops, slots = tvb(2, 1):uint(), tvb(3, 1):uint()
  if slots > SLOTS_MAX then return nil, "more than 16 slots" end
  if (hops > slots) ~= (tvb(1, 1):bitfield(3, 1) == 1) then return nil, "the hop count contradicts the overflow flag" end
  local length = SHIM_BYTES + slots * slot_bytes
  if length > tvb:captured_len() then return nil, "slots beyond the end", length <= tvb:reported_len() end
  return length
end

-- What follows the shim, with the length that it had on the wire: the dissector behind finds the ICRC by it.
local function rest_of(tvb, at, shim_tree)
  local missing = tvb:reported_len() - tvb:captured_len()
  if missing <= 0 then return tvb(at):tvb() end
  shim_tree:add_proto_expert_info(e_cut)
  local bytes = at < tvb:captured_len() and tvb(at):bytes() or ByteArray.new()
  bytes:set_size(bytes:len() + missing)
  return bytes:tvb("RoCEv2 behind the shim")
end

local rroce = DissectorTable.get("udp.port"):get_dissector(UDP_PORT_ROCE)
local BTH_BYTES = 12

-- Calls Wireshark's dissector for what lies behind the telemetry, if it was captured as far as the end of its BTH.
local function call_rroce(tvb, at, tree, pinfo, root)
  if rroce == nil or tvb:reported_len() <= at then return end
  if is_cut(tvb) and tvb:captured_len() < at + BTH_BYTES then tree:add_proto_expert_info(e_cut)
  else rroce:call(rest_of(tvb, at, tree), pinfo, root) end
end

-- Records of INT-MD, IFA and IOAM: the same values in other places. Each function reads one, and shows it.

local function show(tree, record, at)
  tree:add(f.switch_id, at.switch, record.switch)
  tree:add(f.port, at.port)
  add(tree, f.rate, at.rate, record.rate)
  add(tree, f.time, at.time, record.time)
  add(tree, f.tx_bytes, at.tx, record.tx)
  add(tree, f.queue, at.queue, record.queue)
  tree:append_text(string.format(": switch %d port %d, %s, sent %.0f B, queue %.0f B, at %.0f ns",
    record.switch, at.port:uint(), rate_text(record.rate), record.tx, record.queue, record.time))
end

local function md_hop(slot, tree)
  local record = { switch = slot(2, 2):uint(), rate = slot(28, 4):uint() * 1000, time = bits(slot(14, 6), 0, 48),
    tx = bits(slot(22, 6), 0, 48), queue = bits(slot(9, 3), 0, 24) }
  show(tree, record, { switch = slot(0, 4), port = slot(6, 2), rate = slot(28, 4), time = slot(12, 8), tx = slot(20, 8), queue = slot(8, 4) })
end

local function ioam_hop(slot, tree)
  local record = { switch = slot(2, 2):uint(), rate = slot(16, 4):uint() * 1000, time = slot(8, 4):uint() * 1e9 + slot(12, 4):uint(),
    tx = bits(slot(26, 6), 0, 48), queue = slot(20, 4):uint() }
  show(tree, record, { switch = slot(1, 3), port = slot(6, 2), rate = slot(16, 4), time = slot(8, 8), tx = slot(24, 8), queue = slot(20, 4) })
end

local function ifa_hop(slot, tree)
  local seconds = bits(slot(4, 4), 12, 20)
  local record = { switch = bits(slot(0, 4), 8, 16), rate = slot(20, 4):uint() * 1000,
    time = seconds * 1e9 + slot(12, 4):uint() + slot(16, 4):uint(), tx = bits(slot(30, 6), 0, 48), queue = slot(24, 4):uint() }
  show(tree, record, { switch = slot(0, 3), port = slot(8, 2), rate = slot(20, 4), time = slot(12, 8), tx = slot(28, 8), queue = slot(24, 4) })
  tree:add(f.ifa_residence, slot(16, 4))
end

-- A stack whose last record is the first hop's.
local function add_stack(tvb, at, count, size, read, tree)
  for i = 1, count do
    local slot = tvb(at + (count - i) * size, size)
    local hop = tree:add(f.hop, slot)
    hop:set_text(string.format("Hop %d", i))
    read(slot, hop)
  end
  tree:append_text(string.format(", %d hop%s", count, count == 1 and "" or "s"))
end

local function hand_on(tvb, at, tree, pinfo, root, name, count)
  call_rroce(tvb, at, tree, pinfo, root)
  pinfo.cols.info:append(string.format(" [%s %d]", name, count))
  return tvb:captured_len()
end

local MD_HOP, IOAM_NODE, IFA_HOP = 32, 32, 36

local function dissect_int_md(tvb, pinfo, root)
  local length = tvb:captured_len() >= 16 and 4 + 4 * tvb(1, 1):uint() or 0
  if length < 16 or length > tvb:captured_len() then return fail(tvb, root, "Malformed telemetry: INT-MD is too short", length <= tvb:reported_len()) end
  local known = tvb(4, 1):bitfield(0, 4) == 2 and tvb(6, 1):bitfield(3, 5) == 8 and tvb(8, 4):uint() == 0xd4005745
    and tvb(12, 2):uint() == 0xc000 and (length - 16) % MD_HOP == 0 and length <= 16 + SLOTS_MAX * MD_HOP
  if not known then return fail(tvb, root, "Malformed telemetry: INT-MD with other instructions or of another domain") end
  local tree = root:add(weir, tvb(0, length))
  tree:append_text(", INT-MD")
  tree:add(f.md_exceeded, tvb(4, 1))
  tree:add(f.md_mtu, tvb(4, 1))
  tree:add(f.md_remaining, tvb(7, 1))
  tree:add(f.md_instructions, tvb(8, 2))
  tree:add(f.md_domain, tvb(10, 2))
  tree:add(f.md_ds_instruction, tvb(12, 2))
  tree:add(f.md_ds_flags, tvb(14, 2))
  local count = (length - 16) / MD_HOP
  add_stack(tvb, 16, count, MD_HOP, md_hop, tree)
  return hand_on(tvb, length, tree, pinfo, root, "INT-MD", count)
end

local function dissect_ioam(tvb, pinfo, root)
  local length = tvb:captured_len() >= 12 and 4 * tvb(1, 1):uint() or 0
  if length < 12 or length > tvb:captured_len() then return fail(tvb, root, "Malformed telemetry: the IOAM trace is too short", length <= tvb:reported_len()) end
  local room, remaining = length - 12, 4 * tvb(6, 2):bitfield(9, 7)
  local known = tvb(4, 2):uint() == 0x5745 and tvb(6, 1):bitfield(0, 5) == 8 and tvb(8, 3):uint() == 0xf62000
    and room % IOAM_NODE == 0 and room <= SLOTS_MAX * IOAM_NODE and remaining <= room and remaining % IOAM_NODE == 0
  if not known then return fail(tvb, root, "Malformed telemetry: an IOAM trace of another name space or type") end
  local tree = root:add(weir, tvb(0, length))
  tree:append_text(", IOAM trace")
  tree:add(f.ioam_namespace, tvb(4, 2))
  tree:add(f.ioam_overflow, tvb(6, 2))
  tree:add(f.ioam_remaining, tvb(6, 2))
  tree:add(f.ioam_type, tvb(8, 3))
  local count = (room - remaining) / IOAM_NODE
  add_stack(tvb, 12 + remaining, count, IOAM_NODE, ioam_hop, tree)
  return hand_on(tvb, length, tree, pinfo, root, "IOAM", count)
end

function weir.dissector(tvb, pinfo, root)
  local first = tvb:captured_len() > 0 and tvb(0, 1):uint() or nil
  if first == 0x14 or first == 0x00 then
    pinfo.cols.protocol = "Weir"
    if first == 0x14 then return dissect_int_md(tvb, pinfo, root) end
    return dissect_ioam(tvb, pinfo, root)
  end
  local length, fault, is_short = shim_length(tvb)
  pinfo.cols.protocol = "Weir"
  if length == nil then return fail(tvb, root, "Malformed INT shim: " .. fault, is_short) end
  local tree = root:add(weir, tvb(0, length))
  add_head(tvb, tree)
  local format, hops, slots = tvb(0, 1):bitfield(4, 4), tvb(2, 1):uint(), tvb(3, 1):uint()
  local size, records = SLOT_BYTES[format], math.min(hops, slots)
  for i = 0, records - 1 do
    local slot = tvb(SHIM_BYTES + i * size, size)
    local hop = tree:add(f.hop, slot)
    hop:set_text(string.format("Hop %d", i + 1))
    if format == COMPACT then compact_hop(slot, hop) else wide_hop(slot, hop) end
  end
  if tvb(0, 4):uint() == CARRIED_ACK then
    tree:add(f.carried_msn, tvb(SHIM_BYTES + 1, 3))
    tree:add(f.carried_duplicates, tvb(SHIM_BYTES + 4, 1))
    tree:add(f.carried_psn, tvb(SHIM_BYTES + 5, 3))
  elseif records < slots then
    tree:add(f.unused, tvb(SHIM_BYTES + records * size, (slots - records) * size))
  end
  local echo = tvb(1, 1):bitfield(0, 1) == 1
  tree:append_text(string.format(", %s, %d hop%s of %d%s", format == COMPACT and "compact" or "wide", hops,
    hops == 1 and "" or "s", slots, echo and ", echo" or ""))
  call_rroce(tvb, length, tree, pinfo, root)
  pinfo.cols.info:append(string.format(" [INT %d%s]", hops, echo and " echo" or ""))
  return tvb:captured_len()
end

DissectorTable.get("udp.port"):add(UDP_PORT_INT, weir)

-- IFA: a header, UDP as it was without IFA, a metadata header and a stack.

local IP_PROTOCOL_IFA = 253
local ifa = Proto("weir_ifa", "Inband Flow Analyzer 2.0")
ifa.prefs.protocol = Pref.uint("IP protocol", IP_PROTOCOL_IFA, "IP protocol of IFA, as int.ifaProtocol of a scenario")

function ifa.dissector(tvb, pinfo, root)
  local captured = tvb:captured_len()
  if captured < 16 or tvb(0, 2):uint() ~= 0x2f11 or tvb(6, 2):uint() ~= UDP_PORT_ROCE then return 0 end
  pinfo.cols.protocol = "Weir"
  local words = tvb(15, 1):uint()
  local length = 16 + 4 * words
  local known = (4 * words) % IFA_HOP == 0 and 4 * words <= SLOTS_MAX * IFA_HOP and length <= captured
  if not known then
    return fail(tvb, root, "Malformed telemetry: IFA's stack is cut off, or no whole number of records", length > captured)
  end
  local tree = root:add(ifa, tvb(0, length))
  tree:add(f.ifa_max, tvb(3, 1))
  tree:add(f.source_port, tvb(4, 2))
  tree:add(f.destination_port, tvb(6, 2))
  tree:add(f.udp_length, tvb(8, 2))
  tree:add(f.ifa_hop_limit, tvb(14, 1))
  tree:add(f.ifa_length, tvb(15, 1))
  local count = 4 * words / IFA_HOP
  add_stack(tvb, 16, count, IFA_HOP, ifa_hop, tree)
  return hand_on(tvb, length, tree, pinfo, root, "IFA", count)
end

local ifa_protocol = IP_PROTOCOL_IFA
DissectorTable.get("ip.proto"):add(ifa_protocol, ifa)

function ifa.prefs_changed()
  local ip_protocols = DissectorTable.get("ip.proto")
  ip_protocols:remove(ifa_protocol, ifa)
  ifa_protocol = ifa.prefs.protocol
  ip_protocols:add(ifa_protocol, ifa)
end

-- RoCEv2 that was captured in part. Wireshark's dissector finds the ICRC by the packet's length, and calls what ends before
-- that malformed. Of opcodes that it does not know it reads the BTH alone.

local cut_roce = Proto("weir_cut", "RoCEv2, captured in part")
local VENDOR_OPCODES = 0xc0

function cut_roce.dissector(tvb, pinfo, root)
  local captured = tvb:captured_len()
  if not is_cut(tvb) or captured == 0 or tvb(0, 1):uint() >= VENDOR_OPCODES then return rroce:call(tvb, pinfo, root) end
  pinfo.cols.protocol = "RRoCE"
  call_rroce(tvb, 0, root:add(cut_roce, tvb()), pinfo, root)
  return captured
end

if rroce ~= nil then DissectorTable.get("udp.port"):add(UDP_PORT_ROCE, cut_roce) end

-- Vendor opcodes, after Wireshark's dissector has read the BTH.

local VENDOR = {
  [0xc0] = "PROBE", [0xc1] = "NOTIFY", [0xc2] = "RATE", [0xc3] = "SACK", [0xc4] = "RATE_REQUEST", [0xc5] = "DIRECT_NOTIFY",
  [0xc6] = "PATH_PROBE", [0xc7] = "PATH_ANSWER", [0xc8] = "STAMPED_ACK", [0xc9] = "STAMPED_SACK",
}

local vendor = Proto("weir_vendor", "Weir vendor packet")
local v_opcode = ProtoField.uint8("weir.opcode", "Opcode", base.HEX, VENDOR)
local v_sequence = ProtoField.uint32("weir.sequence", "Sequence")
local v_syndrome = ProtoField.uint8("weir.sack.syndrome", "Syndrome", base.HEX)
local v_msn = ProtoField.uint24("weir.sack.msn", "Message sequence number")
local v_base = ProtoField.uint24("weir.sack.base", "Base PSN")
local v_bitmap = ProtoField.bytes("weir.sack.bitmap", "Bitmap")
-- The acknowledgement that NOTIFY and RATE carry along, and what they answer (lib/wire/weir/delayed-ack.ts).
local KINDS = { [0] = "probe", [1] = "request", [2] = "READ response" }
local v_aeth_syndrome = ProtoField.uint8("weir.ack.syndrome", "Syndrome", base.HEX)
local v_aeth_msn = ProtoField.uint24("weir.ack.msn", "Message sequence number")
local v_acknowledges = ProtoField.bool("weir.ack.acknowledges", "Acknowledges", 8, nil, 0x80)
local v_kind = ProtoField.uint8("weir.ack.kind", "Answers", base.DEC, KINDS, 0x03)
local v_acked = ProtoField.uint24("weir.ack.psn", "PSN acknowledged")
-- RATE and RATE_REQUEST (lib/wire/weir/rate.ts, rate-request.ts).
local v_flows = ProtoField.uint16("weir.rate.flows", "Concurrent flows at the receiver (0: unknown)")
local v_window = ProtoField.uint64("weir.rate.window", "Window (B)")
local v_base_rtt = ProtoField.double("weir.rate_request.base_rtt", "T (ns)")
local v_line_rate = ProtoField.double("weir.rate_request.line_rate", "Rate of the sender's link (bit/s)")
local v_mtu = ProtoField.double("weir.rate_request.mtu", "Payload of a full packet (B)")
local v_option = ProtoField.double("weir.rate_request.option", "Option")
-- How the packet arrived that is acknowledged (lib/wire/weir/arrival.ts).
local v_limit = ProtoField.uint8("weir.arrival.hop_limit", "TTL or hop limit of the packet (0: not told)")
local v_arrived = ProtoField.uint64("weir.arrival.arrived", "Time of arrival (ns, modulo 2^48)")
local v_left = ProtoField.uint64("weir.arrival.left", "Time at which this packet left (ns, modulo 2^48)")
-- What authenticates feedback on a connection with a key (lib/wire/weir/feedback-tag.ts, direct-tag.ts).
local v_tag_switch = ProtoField.uint16("weir.tag.switch_id", "Switch id")
local v_tag_sequence = ProtoField.uint64("weir.tag.sequence", "Sequence number")
local v_tag_hash = ProtoField.bytes("weir.tag.hash", "SipHash-2-4")
vendor.fields = {
  v_opcode, v_sequence, v_syndrome, v_msn, v_base, v_bitmap, v_aeth_syndrome, v_aeth_msn, v_acknowledges, v_kind, v_acked,
  v_flows, v_window, v_base_rtt, v_line_rate, v_mtu, v_option, v_limit, v_arrived, v_left, v_tag_switch, v_tag_sequence, v_tag_hash,
}

local AETH_BYTES, SACK_BYTES, ICRC_BYTES = 4, 36, 4
local DELAYED_ACK_BYTES, RATE_BYTES, RATE_REQUEST_BYTES, TAG_BYTES, ARRIVAL_BYTES = 4, 8, 120, 16, 16
local PSN_AT = 9

-- The PSNs that a bitmap names, as ranges: "17-19 22".
local function ranges(base_psn, bitmap)
  local found, first = {}, nil
  for bit = 0, 256 do
    local set = bit < 256 and bitmap:bitfield(bit, 1) == 1
    if set and first == nil then first = bit end
    if not set and first ~= nil then
      local from, to = (base_psn + first) % 16777216, (base_psn + bit - 1) % 16777216
      found[#found + 1] = from == to and tostring(from) or from .. "-" .. to
      first = nil
    end
  end
  return table.concat(found, " ")
end

-- Headers by opcode: from `at`, behind the BTH. Each returns where it ends, or nil if that was not captured, and words for the summary.

local function has(tvb, at, bytes)
  return at + bytes <= tvb:captured_len()
end

-- AETH as in an acknowledgement, then what has arrived beyond it (lib/wire/weir/sack.ts).
local function add_sack(tvb, at, tree)
  if not has(tvb, at, AETH_BYTES + SACK_BYTES) then return nil, "" end
  tree:add(v_syndrome, tvb(at, 1))
  tree:add(v_msn, tvb(at + 1, 3))
  local sack = at + AETH_BYTES
  tree:add(v_base, tvb(sack + 1, 3))
  local text = ranges(tvb(sack + 1, 3):uint(), tvb(sack + 4, 32))
  tree:add(v_bitmap, tvb(sack + 4, 32)):append_text(" (" .. text .. ")")
  return sack + SACK_BYTES, " arrived " .. text
end

local function add_delayed_ack(tvb, at, tree)
  if not has(tvb, at, DELAYED_ACK_BYTES) then return nil, "" end
  tree:add(v_acknowledges, tvb(at, 1))
  tree:add(v_kind, tvb(at, 1))
  local text = " answers " .. (KINDS[tvb(at, 1):bitfield(6, 2)] or "nothing known")
  if tvb(at, 1):bitfield(0, 1) == 1 then
    tree:add(v_acked, tvb(at + 1, 3))
    text = text .. " acks " .. tvb(at + 1, 3):uint()
  end
  return at + DELAYED_ACK_BYTES, text
end

local function add_notify(tvb, at, tree)
  if not has(tvb, at, AETH_BYTES) then return nil, "" end
  tree:add(v_aeth_syndrome, tvb(at, 1))
  tree:add(v_aeth_msn, tvb(at + 1, 3))
  return add_delayed_ack(tvb, at + AETH_BYTES, tree)
end

local function add_rate(tvb, at, tree)
  local from = add_notify(tvb, at, tree)
  if from == nil or not has(tvb, from, RATE_BYTES) then return nil, "" end
  tree:add(v_flows, tvb(from, 2))
  tree:add(v_window, tvb(from + 2, 6))
  return from + RATE_BYTES, " window " .. tostring(tvb(from + 2, 6):uint64())
end

local function add_rate_request(tvb, at, tree)
  if not has(tvb, at, RATE_REQUEST_BYTES) then return nil, "" end
  tree:add(v_base_rtt, tvb(at, 8))
  tree:add(v_line_rate, tvb(at + 8, 8))
  tree:add(v_mtu, tvb(at + 16, 8))
  -- Options that are not given are NaN.
  for i = 0, (RATE_REQUEST_BYTES - 24) / 8 - 1 do
    local option = tvb(at + 24 + 8 * i, 8)
    local value = option:float()
    if value == value then tree:add(v_option, option):prepend_text(i .. ": ") end
  end
  return at + RATE_REQUEST_BYTES, ""
end

-- How the packet arrived: from `at`, the end of the headers of an ACK or SACK.
local function add_arrival(tvb, at, tree, text)
  if at == nil or not has(tvb, at, ARRIVAL_BYTES) then return nil, "" end
  tree:add(v_limit, tvb(at, 1))
  tree:add(v_arrived, tvb(at + 2, 6))
  tree:add(v_left, tvb(at + 10, 6))
  return at + ARRIVAL_BYTES, text .. " left " .. tostring(tvb(at + 10, 6):uint64() - tvb(at + 2, 6):uint64()) .. " ns after its packet came"
end

local function add_stamped_ack(tvb, at, tree)
  if not has(tvb, at, AETH_BYTES) then return nil, "" end
  tree:add(v_aeth_syndrome, tvb(at, 1))
  tree:add(v_aeth_msn, tvb(at + 1, 3))
  return add_arrival(tvb, at + AETH_BYTES, tree, "")
end

local function add_stamped_sack(tvb, at, tree)
  local from, text = add_sack(tvb, at, tree)
  return add_arrival(tvb, from, tree, text)
end

local function add_nothing(_, at)
  return at, ""
end

local HEADERS = {
  [0xc0] = add_nothing, [0xc1] = add_notify, [0xc2] = add_rate, [0xc3] = add_sack, [0xc4] = add_rate_request, [0xc5] = add_delayed_ack,
  [0xc8] = add_stamped_ack, [0xc9] = add_stamped_sack,
}
-- Acknowledgements, whose headers Wireshark shows itself: bytes of them.
local ACKNOWLEDGEMENTS = { [17] = AETH_BYTES, [18] = AETH_BYTES + 8 }

-- What is left between the headers and the ICRC, if it is as long as a tag. (Behind a probe that measures T comes padding.)
local function add_tag(tvb, at, tree, of_switch)
  if tvb:reported_len() ~= at + TAG_BYTES + ICRC_BYTES or not has(tvb, at, TAG_BYTES) then return end
  if of_switch then
    tree:add(v_tag_switch, tvb(at, 2))
    tree:add(v_tag_sequence, tvb(at + 2, 6))
  else
    tree:add(v_tag_sequence, tvb(at, 8))
  end
  tree:add(v_tag_hash, tvb(at + 8, 8))
end

local bth_opcode = Field.new("infiniband.bth.opcode")
local bth_psn = Field.new("infiniband.bth.psn")
local bth_qp = Field.new("infiniband.bth.destqp")

-- The tag of an acknowledgement, on a connection with a key.
local function dissect_acknowledgement(psn, header_bytes, root)
  local tvb, at = psn.source, psn.offset - PSN_AT + BTH_BYTES + header_bytes
  if tvb:reported_len() ~= at + TAG_BYTES + ICRC_BYTES then return end
  local tree = root:add(vendor)
  tree:append_text(": feedback tag")
  add_tag(tvb, at, tree, false)
end

function vendor.dissector(_, pinfo, root)
  local opcode, psn = bth_opcode(), bth_psn()
  if opcode == nil then return end
  local header_bytes = ACKNOWLEDGEMENTS[opcode.value]
  if header_bytes ~= nil and psn ~= nil then return dissect_acknowledgement(psn, header_bytes, root) end
  if opcode.value < VENDOR_OPCODES then return end
  local name = VENDOR[opcode.value] or string.format("vendor opcode 0x%02x", opcode.value)
  local qp = bth_qp()
  local tree = root:add(vendor)
  tree:append_text(": " .. name)
  tree:add(v_opcode, opcode.range, opcode.value)
  local more = ""
  if psn ~= nil then
    tree:add(v_sequence, psn.range, psn.value)
    -- A BTH behind a shim whose end was not captured lies in a buffer of its own.
    local tvb, headers = psn.source, HEADERS[opcode.value]
    if headers ~= nil then
      local at, text = headers(tvb, psn.offset - PSN_AT + BTH_BYTES, tree)
      more = text
      if at ~= nil then add_tag(tvb, at, tree, name == "DIRECT_NOTIFY") end
    end
  end
  pinfo.cols.info = string.format("%s QP=0x%06x sequence %d%s", name, qp and qp.value or 0, psn and psn.value or 0, more)
end

register_postdissector(vendor)

-- Weir's words in messages of the connection manager, in private data or in place of a REQ's alternate path: "WEIR", a byte of length, a message of proto/connect.proto.

local words = Proto("weir_words", "Weir's words at connect")
local FEATURES = {
  { 0x1, "selective_repeat", "Selective repeat" }, { 0x2, "path_answers", "Answers path probes" }, { 0x4, "no_runs", "Takes no runs of packets" },
  { 0x8, "keeps_port", "Sends from one UDP port" }, { 0x10, "window_numbers", "Numbers windows" },
  { 0x20, "telemetry", "Reads needs, grants telemetry" }, { 0x40, "reverse_telemetry", "Grants telemetry collected by ACKs" },
  { 0x80, "time_stamps", "Grants time stamps" }, { 0x100, "hop_count", "Grants hop counts" }, { 0x200, "cnps", "Grants CNPs" },
  { 0x400, "rx_hpcc", "Grants windows by rx-hpcc" }, { 0x800, "marks", "Grants reports of CE marks" },
  { 0x1000, "ack_every", "Grants an ACK each so many packets" }, { 0x2000, "probes", "Grants answers to probes" },
}
local NEEDS = {
  [1] = "telemetry", [2] = "telemetry collected by ACKs", [3] = "time stamps", [4] = "hop counts", [5] = "CNPs, ns apart",
  [6] = "windows by receiving part", [7] = "reports of CE marks", [8] = "an ACK each so many packets", [9] = "answers to probes",
}
local NEED_BYTES_MAX = 4
local w = {
  version = ProtoField.uint64("weir.words.version", "Version"),
  features = ProtoField.uint32("weir.words.features", "Features", base.HEX),
  mtu = ProtoField.uint64("weir.words.path_mtu", "Path MTU (B)"),
  budget = ProtoField.uint64("weir.words.receive_budget", "Receive budget of a connection (B)"),
  host_budget = ProtoField.uint64("weir.words.host_budget", "Receive budget of all connections (256 KiB)"),
  data = ProtoField.bytes("weir.words.application_data", "Data of the application"),
  key = ProtoField.bytes("weir.words.key_words", "Nonce and proof of the key"),
  need = ProtoField.uint8("weir.words.need", "Needs", base.DEC, NEEDS, 0xf8),
  need_value = ProtoField.uint32("weir.words.need.value", "Value"),
  ack_every = ProtoField.uint64("weir.words.ack_every", "Packets for which it grants one ACK at most"),
  filled = ProtoField.uint64("weir.words.filled_payload", "Payload that fills a packet (B)"),
  without_icrc = ProtoField.uint64("weir.words.without_icrc", "Packets have no ICRC"),
  carries_acks = ProtoField.uint64("weir.words.carries_acks", "Packets with payload carry acknowledgements"),
  private_bytes = ProtoField.uint64("weir.words.private_bytes", "Private data of the application (B)"),
  proof = ProtoField.bytes("weir.words.proof", "Proof of the words of both ends"),
  code = ProtoField.string("weir.words.code", "Code"),
  message = ProtoField.string("weir.words.message", "Reason"),
  end_proof = ProtoField.bytes("weir.words.end_proof", "Proof of who ends the connection"),
  other = ProtoField.bytes("weir.words.other", "Field that is not known"),
}
local feature_fields = {}
words.fields = w
for i, feature in ipairs(FEATURES) do
  feature_fields[i] = ProtoField.bool("weir.words.features." .. feature[2], feature[3], 32, nil, feature[1])
end
words.fields = feature_fields
local e_words = ProtoExpert.new("weir.words.malformed", "Words that cannot be read", expert.group.MALFORMED, expert.severity.ERROR)
words.experts = { e_words }

-- A varint: its value, exact to 2^53, and where it ends; nil if it does not end.
local function varint(tvb, at, stop)
  local value, factor = 0, 1
  while at < stop and factor < 2 ^ 64 do
    local byte = tvb(at, 1):uint()
    value = value + byte % 128 * factor
    at = at + 1
    if byte < 128 then return value, at end
    factor = factor * 128
  end
end

local function add_features(tree, range, value)
  local node = tree:add(w.features, range, value)
  for _, field in ipairs(feature_fields) do node:add(field, range, value) end
end

-- A list of needs: id and length in a byte, then the value. False if it breaks a rule.
local function add_needs(tvb, at, stop, tree)
  while at < stop do
    local length = tvb(at, 1):bitfield(5, 3)
    if tvb(at, 1):bitfield(0, 5) == 0 or at + 1 + length > stop then return false end
    local node = tree:add(w.need, tvb(at, 1))
    if length <= NEED_BYTES_MAX then
      local value = length > 0 and tvb(at + 1, length):uint() or 0
      node:add(w.need_value, tvb(at, 1 + length), value)
      if length > 0 then node:append_text(": " .. value) end
    end
    at = at + 1 + length
  end
  return true
end

local function raw(field)
  return function(tvb, at, stop, tree)
    if stop > at then tree:add(field, tvb(at, stop - at)) end
    return true
  end
end

-- By message and field number: how numbers and how bytes are shown.
local PARAMETERS = {
  numbers = { [1] = w.version, [3] = w.mtu, [7] = w.budget, [11] = w.ack_every, [13] = w.filled, [14] = w.without_icrc,
    [15] = w.private_bytes, [16] = w.carries_acks, [17] = w.host_budget },
  bytes = { [8] = raw(w.data), [9] = raw(w.key), [10] = add_needs, [12] = raw(w.proof) },
}
local REJECTION = { numbers = {}, bytes = { [1] = raw(w.code), [2] = raw(w.message), [3] = raw(w.end_proof) } }

-- The fields of a message from `at` on. False if it cannot be read.
local function add_message(tvb, at, stop, tree, message)
  while at < stop do
    local from, key = at, nil
    key, at = varint(tvb, at, stop)
    if key == nil then return false end
    local number, kind = math.floor(key / 8), key % 8
    if kind ~= 0 and kind ~= 2 then return false end
    local value, behind = varint(tvb, at, stop)
    if value == nil then return false end
    if kind == 0 then
      local range, field = tvb(from, behind - from), message.numbers[number]
      if message == PARAMETERS and number == 2 then add_features(tree, range, value)
      elseif field ~= nil then add(tree, field, range, value)
      else tree:add(w.other, range) end
      at = behind
    else
      if behind + value > stop then return false end
      local show_bytes = message.bytes[number] or raw(w.other)
      if not show_bytes(tvb, behind, behind + value, tree) then return false end
      at = behind + value
    end
  end
  return true
end

-- Management datagrams to QP 1: BTH, DETH (8 bytes), then 256 bytes whose class is 7. By attribute: where words may be, and what they
-- are. A REQ has them behind the LIDs of its alternate path, or in the private data behind the CMA header.
local DETH_BYTES, MAD_BYTES, CM_CLASS, WORD = 8, 256, 7, 0x57454952
local MESSAGES = {
  [0x10] = { at = 124, else_at = 200, message = PARAMETERS }, [0x13] = { at = 60, message = PARAMETERS },
  [0x12] = { at = 108, message = REJECTION }, [0x15] = { at = 36, message = REJECTION },
}

function words.dissector(_, _, root)
  local qp, psn = bth_qp(), bth_psn()
  if qp == nil or psn == nil or qp.value ~= 1 then return end
  local tvb, mad = psn.source, psn.offset - PSN_AT + BTH_BYTES + DETH_BYTES
  if not has(tvb, mad, MAD_BYTES) or tvb(mad + 1, 1):uint() ~= CM_CLASS then return end
  local found = MESSAGES[tvb(mad + 16, 2):uint()]
  if found == nil then return end
  local at = mad + found.at
  if tvb(at, 4):uint() ~= WORD and found.else_at then at = mad + found.else_at end
  if tvb(at, 4):uint() ~= WORD then return end
  local length = tvb(at + 4, 1):uint()
  local stop = math.min(at + 5 + length, mad + MAD_BYTES)
  local tree = root:add(words, tvb(at, stop - at))
  local readable = at + 5 + length <= mad + MAD_BYTES and add_message(tvb, at + 5, stop, tree, found.message)
  if not readable then tree:add_proto_expert_info(e_words) end
end

register_postdissector(words)
