import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

const TYPE_A = 1;
const TYPE_AAAA = 28;

export type TestDnsServer = {
  /** As `createDnsResolver` takes it. */
  server: string;
  /** How often it was asked for A records. */
  asked: () => number;
  close(): Promise<void>;
};

/**
 * A real DNS server on loopback that answers each question for addresses with the next of `answers`, the last one from
 * then on: A records of the IPv4 addresses in it, AAAA records of the others.
 */
export async function startDnsServer(answers: string[][]): Promise<TestDnsServer> {
  const socket = createSocket('udp4');
  let asked = 0;
  let askedV6 = 0;
  socket.on('message', (question, from) => {
    const type = question.readUInt16BE(question.length - bytesAfterQuestion(question) - 4);
    const turn = type === TYPE_A ? asked++ : askedV6++;
    const addresses = answers[Math.min(turn, answers.length - 1)] ?? [];
    const wanted = addresses.filter((address) => isIPv6(address) === (type === TYPE_AAAA));
    socket.send(answerTo(question, type, wanted), from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    server: `127.0.0.1:${socket.address().port}`,
    asked: () => asked,
    close: () => new Promise<void>((resolve) => void socket.close(resolve)),
  };
}

/** How many bytes follow the question: resolvers may add an EDNS record there. */
function bytesAfterQuestion(message: Buffer): number {
  let at = 12;
  while (message.readUInt8(at) !== 0) at += message.readUInt8(at) + 1;
  return message.length - (at + 5);
}

function answerTo(question: Buffer, type: number, addresses: string[]): Buffer {
  const asked = question.subarray(12, question.length - bytesAfterQuestion(question));
  const header = Buffer.alloc(12);
  question.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(addresses.length, 6);
  const records = addresses.map((address) => {
    const bytes = ipaddr.parse(address).toByteArray();
    return Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, bytes.length, ...bytes]);
  });
  return Buffer.concat([header, asked, ...records]);
}
